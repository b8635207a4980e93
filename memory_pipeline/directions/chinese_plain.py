"""What lasts in Chinese by its grammar alone, without a word that says so: rules of conduct and style, and facts."""

from __future__ import annotations

import re

from memory_pipeline.directions.lazy import Lazy
from memory_pipeline.records import EntryKind

# --- words -----------------------------------------------------------------------------------------------------------

_CRAFT = (
    r"(?:代码|注释|变量名?|函数名?|函数|方法名?|类名|常量名?|文件名?|单个文件|文件|命名"
    r"|提交信息|提交说明|提交|commit(?: ?messages?)?|pr ?(?:标题|描述)?"
    r"|分支名?"
    r"|测试用例|测试代码|测试文件|测试|单测|单元测试|test ?(?:文件|用例)?|日志|文档"
    r"|接口(?:路径|名)?|路由|依赖|缩进|路径|错误信息|报错信息|错误码|异常|回答|回复|解释"
    r"|改动|修改|时间"
    r"|日期|金额"
    r"|价格|颜色|样式|密钥|密码|配置项?|枚举|常量|sql|表名|字段名?|主键|索引|review"
    r"|code review|类型|import|导入|格式|字符串|引号|魔法数字|迁移|脚本|版本号?"
    r"|发布"
    r"|代码风格|api|组件名?|事务|查询|readme|文案)"
)
_INFRA = (
    r"(?:数据库|端口|前端|后端|前后端|主分支|默认分支|开发分支|发布分支|分支|测试环境"
    r"|预发(?:环境)?|线上|生产(?:环境|库)?|正式环境|开发环境|本地环境|环境|ci|cd"
    r"|流水线|服务端?|服务器"
    r"|服务|网关|缓存"
    r"|redis|mysql|postgres\w*|kafka|消息队列|队列|定时任务|登录|登陆|鉴权"
    r"|认证|域名|地址|包管理器?|包管理工具|状态管理|构建工具|构建|打包|部署|图片|附件|静态资源"
    r"|资源"
    r"|日志|监控|支付|短信|邮件|推送|老系统|旧系统|新系统|客户|需求|产品|报警|告警|数据|机器"
    r"|节点|集群|备份|索引|埋点|权限|文案|orm|框架|中间件|网关|证书|主题|依赖|锁文件"
    r"|配置中心|配置"
    r"|密钥|订单号"
    r"|用户\s?id|id|主键|时间戳?|时区|金额|单位|货币|字符集|编码|接口|api"
    r"|staging|prod|dev|monorepo|仓库|项目|代码库|代码|工程|应用|系统|小程序"
    r"|后台|客户端|网络"
    r"|内网|许可证|协议|版本|框架|语言|前缀|路径|目录|文件|文档|需求|团队|公司|翻译|迁移)"
)
#: What shows that a sentence is about the product or the moment.
_NOW = Lazy(
    r"(?:这次|这一次|暂时|目前先|今天|明天|昨天|刚才|刚刚|现在先|先别|先不|先把|先提交|这里"
    r"|那里|这个(?!项目|仓库|工程|库|服务|系统|应用|团队|平台)|这段|这些|那个|这种情况"
    r"|(?:上面"
    r"|下面)的|帮我|帮忙|麻烦|一下$|看一下|看看|实现这个"
    r"|加个|加一个|(?<!直接)给我(?!看方案|确认)|页面|按钮|弹窗|点击|列表|跳转|校验|控制台|商品"
    r"|用户(?!\s?id)(?:每次|登录|点|名|可以|没|输入)|改一下|试试|再说|再看)"
)
_TASK_START = (
    r"(?:[，,\s]|请|你|那|好的?|然后|接着|顺便|再)*(?:帮|把|给(?!我看)|加(?!密"
    r"|完|了|载)|新增(?!表|页面|接口要|[^，,]{1,6}(?:必?须|都?要|需))|添加|实现|修复?(?!改数据)|查|看|写(?:一|个"
    r"|段|完"
    r"|好)|做(?:一|个)|改(?:一|下|成|个)|生成|优化|重构(?!时|的时候)|删掉|删除(?!.*前)|移除|跑一?下|运行一?下"
    r"|继续|解释(?!时|的时候)"
    r"|(?:评估|补充|完善|处理|完成|修改|整理|梳理|编写|看下|调整)(?!时|的时候|前|完)"
    r"|翻译|检查一?下|调试|排查|撤回|回滚|对比|分析|升级|导出(?!文件|格式|的|编码)|设计|拆|想做|我想(?!让|要你)"
    r"|我要(?!求)|我需要|需要我|打开|启动一?下|紧急|赶紧|用\S{1,12}(?:实现|写|做)(?:一下"
    r"|一个|个)"
    r"|暂时|先(?:别|不|提交|把))"
)
TASK = Lazy(_TASK_START)
_TROUBLE = Lazy(
    r"报错|出错|失败|崩溃|异常(?!处理|要|统一)|超时(?!时间)|卡住|卡死|挂了|不行|没反应"
    r"|跑不过|没通过|不过(?:了|，)|太慢|很慢|太高|太大|死循环|乱码|白屏|不对|有问题|缺少"
    r"|找不到|不一致|不匹配|对不上"
    r"|冲突(?!再|之后)|坏了|丢|错误$|错了|拼写|跨域|占用|重复|跑不|起不来|启动不|打不开"
    r"|连不上|看不到|没生效|不生效|显示(?!名)|一直(?!用|是|在用)|泄漏|满了|涨|编译不"
    r"|\bfail\b"
    r"|\berror\b"
)
_QUESTION = Lazy(r"(?:吗|呢|么)[\s?？]*$|什么|怎么|为何|多少|哪|几个|还是.{1,12}好|是不是|要不要|能不能|有没有|觉得")

# --- rules -----------------------------------------------------------------------------------------------------------

_LEADS = r"(?:请你?|你|您|也|都|还有|另外|并且|而且|记得|注意|以后|千万|一定|绝对|平时|我们?|咱们|大家|反正|同时)*"
_BAN = r"(?:不要|别|不许|不准|不得|禁止|严禁|请勿|切勿|勿|不允许|不可以?|不能|不用|无需|少)"
_FORBIDS = Lazy(
    rf"(?P<scene>[^，,]{{0,24}}?)(?:，)?{_LEADS}{_BAN}(?:再|随便"
    r"|自己|擅自|直接|自动|手动|随意|跟我|给我|主动|偷偷|私自|每次|都|去|总是|老是)*"
    r"(?!担心|管|急|忘|停|怕|这|那|它|他|慌|理|显示|展示|出现|跳转|弹|为空|空|重复提交"
    r"|说了|是|超过\d+(?:个字|位)|过|的|动了|会|很)(?P<what>.{1,60})"
)
_MEASURE = Lazy(r"[^，,]{1,16}(?:(?:不|别)(?:要)?(?:能|可以|得)?超过|不低于|不少于|不多于|不小于|不大于).+")
_CRAFT_RULE = Lazy(
    r"(?:[^，,]{0,14}?(?:的|里|中|内|时候?|时)?)?(?:所有|全部|每个|每次"
    rf"|新|我们的|咱们的)?(?:的)?{_CRAFT}(?:里面?|中|上"
    r"|的[^，]{1,4})?[^，,]{0,8}?(?:用|写|要(?!求)|放在?|都|统一|一律|必须"
    r"|务必|不要|别|不能|不超过|尽量|保持|遵循|以|采用|走|存|返回|带上?|加上?|简短|简洁"
    r"|小写"
    r"|大写|驼峰|下划线|控制在|按照?|遵守|从|和|跟|只|应该|需要|得|不许|禁止|优先)(?!了"
    r"|过|的是|起来|不了|不上|不到|不出|吗|什么)\s?\S"
)
_EVERY = Lazy(
    r"(?:所有|任何|每个|每一个|凡是|全部|涉及|但凡|只要(?:是)?)(?!用户|订单"
    r"|商品)[^，,]{1,20}?[，,]?(?:都|必须|要|一律|统一|得|不要|不能|不得|务必|(?<![引使调应占费作])用"
    r"|禁止|需要|应该)\S"
)
_ORDERED = Lazy(
    r"(?:[^，,]{0,16}(?:之?前|以前)[，,]?(?:都|也|你)?(?:先|要|必须|得|务必|记得|一定|需要|应该|请)(?!别)\s?\S+.*"
    r"|(?:每次)?(?!文件上传|用户|点击"
    r"|登录)[^，,]{0,14}(?:完[^，,]{0,10}?(?:之后|以后|后)?"
    r"|(?<!然)(?<!前)(?<!最)(?:之后|以后|后(?!端|台|面|续))"
    r"|了 ?[a-z]+|了 ?[\u4e00-\u9fff]{1,6})[，,]?(?:都|也|你"
    r"|再)?(?:要|必须|得|务必|记得|一定|需要|应该|请|跑一遍)(?:先|再|重新)?\S+.*"
    r"|(?!点击|登录|用户|渲染|显示|加载)[^，,]{1,12}(?:之前|以前|前(?!端|台"
    r"|面))[，,]?(?:跑|运行|执行|更新|检查|确认|同步|rebase|拉|备份|通知|重启|清"
    r"|打|看|问"
    r"|格式化|测)\s?\S.*|先(?!别|不|把|提交|看|做|这|给|加|修|帮)[^，,]{1,16}[，,]?(?:再|然后|才|之后再)\S+.*"
    r"|(?:新增|新建|添加|修改|更新|启动|部署|发布|上线|合并|提交|升级|跑|运行|改|删|开发"
    r"|写|提|发)[^，,]{0,14}(?:先|必须|一定要|都要|之前要|前要|需要先|记得|时要"
    r"|得先)\S+.*"
    r"|(?:本地|线上|测试|生产)?(?:跑|运行|执行|启动|部署|发布|启动|构建|打包|安装|测试"
    r"|格式化|迁移)[^，,]{0,8}(?:用|走|通过|统一用)\s?\S+.*)"
)
_ASKS_FIRST = Lazy(
    r".*(?:先问我|问我一?[下声]|跟我(?:确认|说)|(?:找|和|与|经过?)我(?:确认|同意)"
    r"|我(?:同意|确认|批准)了?(?:再|才|之后)|没有我的(?:允许|同意)|给我看.*再"
    r"|先给我(?:看"
    r"|方案)|不确定的?(?:时候|话)?).*"
)
_MANNER = Lazy(
    r"(?:请|你|都|以后)*(?:(?:回答|回复|说话|讲|解释|汇报|总结|写代码|改代码|写测试"
    r"|命名|提交|重构|写文档|做改动)(?:的?时候?)?(?:先|要|只|别|不要|请|都|多"
    r"|少)\s?\S"
    r"|我不(?:要|需要)(?!这|那|它)\S{2,}|(?:回答|回复|说话?|讲|解释|交流|沟通"
    r"|输出|写|描述)[^，,]{0,6}(?:简短|简洁|简单|直接|详细|精简|短|中文|英文|重点"
    r"|一点|点"
    r"|通俗)|说重点|直接给(?:代码|结论|答案|方案)|直接说(?:问题|结论|重点)|别啰嗦|别废话"
    r"|不要(?:跟我)?客气|叫我\S|称呼我"
    r"|(?:请)?(?:始终|一直|都|尽量)?用\s?(?:简体|繁体|中文|英文|英语|日语)\S*"
    r"|尽量\S|改动尽量|优先(?:使用|用|考虑|选)?\S|遵循\S|遵守\S|保持\S{2,}"
    r"|务必\S|一律\S"
    r"|统一\S|坚持\S)"
)
_CONTRASTS = Lazy(
    r"(?:[^，,]{0,16})(?:用|使用|走|采用|选"
    r"|写)\s?[^，,]{1,20}[，,]\s?(?:不要|别|不用|不|而不是|禁止|不准)(?:要"
    r"|再|用|使用|手动|直接|走|写|上|选|能)*\s?\S.*"
    rf"|(?:[^，,]{{0,16}}?){_BAN}(?:再|直接)?(?:用|使用|写|push|提交"
    r"|走)\s?[^，,]{1,24}[，,]\s?(?:请|要|都|而是|改|直接)*(?:用|走"
    r"|使用|改用"
    r"|换成|写|发|提)\s?\S.*"
)
_CAREFUL = Lazy(
    r".*(?:每次|一律|统一|务必|凡是|始终|总是|都要|永远|以后|今后|无论|不管|任何情况下|从下个?版本|从现在).*"
)
_WISH = Lazy(r"(?:我|我们)(?:不)?(?:希望|想让你|要求|建议你|喜欢|习惯|讨厌|偏好|倾向)(?!这|那)\S")

# --- decisions and facts ---------------------------------------------------------------------------------------------

_DECIDED = Lazy(
    r"(?:(?:我们?|咱们?|团队|公司|方案|这事|最后|最终|已经|刚|都)*(?:决定|定下来?|定"
    r"|敲定|选定|商量好|选|拍板)(?:下来|好)?了[，,：:]?(?!一下|吗)\S.*"
    r"|(?:我们?|咱们?|最终|最后)*(?:决定)(?:了)?\S.*|(?:我们?|咱们?|团队|公司"
    r"|项目|这个项目)*(?:已经|都|已)?(?:从\s?\S.{0,20})?(?:迁移?|切换?|换"
    r"|升级"
    r"|改)(?:到|成|为|用|成了)\s?\S.*了$"
    r"|(?:[\w\u4e00-\u9fff]{1,8}\s?)?(?:我们|咱们)(?:选|就选|定"
    r"|用定)了?\s?[a-z\u4e00-\u9fff].*|先用[^，,]{2,12}[，,]以后再.*|(?:我们?"
    r"|咱们?|以后|从\S{1,10}开始)*(?:不再|放弃|停止|弃用|下线)\S.*"
    r"|.{1,10}就用\s?[^，,]{1,20}(?:吧|了)?(?:[，,]不\S.*)?"
    r"|(?!又|还|怎么|刚|谁).{1,12}(?:选|用"
    r"|定)了\s?[a-z][\w.+ -]*|从\S{1,10}(?:开始|起)\S{3,})"
)
_SELF = Lazy(
    r"我(?:看不懂|听不懂|不懂|没有?(?:权限|gpu|显卡|mac|windows)|只有"
    r"|只能)(?!这|那|为)\S|我(?:自己|本人|们团队)?(?:是(?!说|想|不是|在|问|要|否"
    r"|指|觉得|让|怕"
    r"|看)|习惯|平时|一般|主要|只会|不会(?!再)|不太?懂|不熟悉?|的?(?:编辑器|系统|时区"
    r"|母语|电脑)|在(?:北京|上海|深圳|杭州|柏林|东京|纽约|windows|mac|linux)"
    r"|用(?:的是)?\s?(?:mac|windows|linux|vim|emacs|vs ?code|neovim|zsh)|所有的?项目|每个项目)\s?\S"
    r"|叫我\S|(?:请)?称呼我"
)
_WE_FACT = Lazy(
    r"(?:(?:注意|另外|对了|补充|提醒|说明)[一下]*[，,：:]?)?(?:我们?(?:这边|这里"
    r"|公司|团队|项目|的?系统|组|这)?|咱们?(?:这边|公司|团队|项目)?|我司|公司|团队|大家"
    r"|这边)(?!想|要(?!求)|先|来|看|需要一?个|刚|可以|应该|现在要"
    r"|试)[^，,]{0,16}?(?:用|是|在|跑|部署|走|支持|放|存|叫|管理|托管|没有|不能"
    r"|不支持|只|都|统一|采用|基于"
    r"|依赖|遵循|按|不)\S*.*"
)
_PROJECT_FACT = Lazy(
    r"(?:这个?|本|我们的?|该|整个)?(?:项目|仓库|工程|代码库|monorepo|系统|服务"
    r"|应用|库)(?!经理)(?:里面?|中|的)?[^，,]{0,12}?(?:用|是|在|有|跑|部署"
    r"|走|支持"
    r"|不支持|放|存|叫|采用|基于|依赖|兼容|遵循|只|没有|需要|要求|负责|连的?|对接)(?!不了|了|不起|一个?定时)\s?\S.*"
)
_INFRA_FACT = Lazy(
    r"(?:[^，,把帮给]{0,8}?(?:的|所有"
    rf"|环境)?)?{_INFRA}[^，,把]{{0,8}}?(?:是(?!不是|否|什么)|用的?是?"
    r"|在(?!哪)|叫做?|跑在|跑|走的?是?|存在?|放在?"
    r"|改成.*了|换成.*了|选了|选的是|支持|不支持|为|部署在|托管在|不能|默认|统一"
    rf"|以\S{1, 8}为|由|每天|每晚|每周|每月|按|只能|只有?|有|没有|收集|同步|备份|上报"
    r"|写到|写入|需要|依赖"
    r"|基于|采用|使用|分为|分成|共|一共|限制|保留|不允许|不开放)(?!问题|个?错|bug)\s?\S.*"
)
_IS_NOT = Lazy(
    r"[^，,这那它]{1,24}?(?:是|叫|用|改成|为|在)\s?[^，,]{1,20}(?:了)?[，,]?\s?(?:不是|而不是"
    r"|不叫|不再是|不在)\s?[^，,]+(?:[，,].*)?$"
)


_IF_POSSIBLE = Lazy(r"能(?:不)?[^，,]{1,10}就(?:不|别|尽量)?\S")
_WHEREVER = Lazy(r"(?:无论|不管|不论)(?:是)?(?:哪|什么|任何)[^，,]{0,8}[，,]?.*(?:都|一律|统一|不要|别|要|用|必须)\S")


#: What is asked for as a whole: the sentences around it tell what it shall do.
BUILDS = Lazy(
    r"需求[：:是]|(?:实现|开发|完成|补充|编写|设计|做)(?:一个|一下|该|这个|以下|如下|上述|下面"
    r"|新的)?[^，。]{0,12}?(?:功能|模块|逻辑"
    r"|系统|页面|接口|组件|后台)|请(?:实现|完成|评估)|(?:系统|平台|页面|模块)(?:应|需)支持"
)
_PRODUCT = Lazy(
    r"(?:需求[：:]|.{0,10}?(?:用户|会员|积分|优惠券|商品|库存|购物|下单|顾客"
    r"|买家|卖家|订单|系统应|系统需|页面|首页|主页|按钮|弹窗|验证码|列表))"
)
#: Words by which a person insists: they outweigh trouble and requests in the same breath.
INSISTS = Lazy(r"禁止|严禁|一律|不得|务必|不许|不准|以后(?:都|请|别|不|一律)|永远|统一|别再|千万|绝不")
_MODAL = Lazy(
    r"[^，,]{2,24}?(?<!不)(?:必须|务必|一律|统统|通通|均?须|均需|应当?(?!该|用|对|付|答)|需(?!求"
    r"|要(?:一个|你|加|改))|不得|不宜|不应|不可(?!用|以)"
    r"|严禁|禁止|切勿|不允许|只能|不编写|不写|不存|不做|不放)\S"
)
_BY_WHOM = Lazy(
    r"[^，,]{1,14}?(?:由|归|让|交给)(?!于|此)[^，,]{1,10}?(?:负责|来|管|维护|补|做|写|定|处理|审批)|谁[^，,]{1,8}谁\S"
)
_WINDOW = Lazy(r"[^，,]{2,12}(?:为|是|在|定在)每(?:周|天|月|日|季度|晚)\S")
_IS_CHOSEN = Lazy(
    r"[^，,]{0,12}?(?:已经?|经[^，,]{1,6})?(?:选用|采用|定为|选定|锁死在|固定在|锁定为?|沿用|统一到|定了)\s?\S"
)
_GOES_IN = Lazy(
    r"[^，,]{2,16}?(?:放在?|写在|存在?|落在|走|归到|入库存|从"
    r"|在)\s?[\w./@*▮-]*[a-z_./▮][\w./@*▮-]*\s?(?:下面?|里面?|中|目录|文件夹|切|来|$|，)"
)
_JUST_DO = Lazy(r"[^，,]{1,14}?(?:用|走|跑|执行|交给)\s?[a-z▮][\w ./▮-]*[^，,]{0,4}?(?:就行|即可|就可以|就好)")
_NAMED_IS = Lazy(
    r"(?!这|那|它)[^，,]{1,12}?(?:级别|版本|端口|地址|分支|环境|账号|路径|目录|库|时区|编码|单位|格式|域名"
    r"|默认值)(?:是|为)\s?[a-z0-9▮/.]\S*"
)
_STYLE_TAIL = Lazy(r"[^，,]{2,20}?(?:简短|简单|少|多|慢|细|短|精简|通俗|清楚)(?:一?点|些)(?!了)")
_TOO = Lazy(
    r"(?:别|不要|少|不用)(?:每次|总|老|一上来|动不动|随便|都)\S{2,}|\S{1,12}?(?:别|不要)(?:乱|瞎|随便"
    r"|打|加|改|动|散|放|写)\S*"
)


_SPARES = Lazy(r"(?:先)?(?:不用|无需|不必|不需要)(?!.*(?:每次|都|以后))")


def tells_of_product(clause: str) -> bool:
    """Whether a clause speaks of what the product deals with."""
    return _PRODUCT.match(clause) is not None


_CUSTOM = Lazy(
    r".*(?:这是(?:流程|规定|规矩|约定|惯例|要求|原则|公司|我们|团队)|(?:规定|要求"
    r"|约定)的$|(?:我们|公司|团队)的(?:规矩|惯例|规定|流程|原则)"
    r"|一直(?:都)?是这样)"
    r"|.{0,8}(?:命名|格式|规范|约定|口径|单位|风格|规则)[：:]\s?\S"
    r"|(?!这|那|它|把|帮)[^，,]{2,10}?(?P<verb>写在|放在?|走|叫|归|存在?|用"
    r"|留给)[^，,]{1,12}[，,][^，,]{1,10}?(?P=verb)\S"
)
_NEEDS = Lazy(
    r"(?!这|那|它|我要|你要|我们要|需要|不|还要|也要)[^，,]{1,12}?(?:都|也)?要(?:保持|加上?|带上?|写|走|用"
    r"|先|经过?|留|按|遵守|一致|标|配|附|(?=\s?[a-z0-9▮]))\s?\S"
    r"|[^，,]{0,6}(?:改|动|加|删|写|提|发|升|换)[^，,]{1,6}就(?:要|得|必须)\S"
)


def is_custom(text: str) -> bool:
    """Whether a sentence says of itself that it tells a custom, or allots one thing here and another there."""
    return (
        _CUSTOM.match(text) is not None and not _tells_trouble(text) and TASK.match(text) is None and "活动" not in text
    )


def tells_state(clause: str) -> bool:
    """Whether a clause tells how things stand now, against what it was to be."""
    return _STANDS_NOW.match(clause) is not None


_STANDS_NOW = Lazy(r"(?:现在|目前|但是?现在|结果|但是?|却|实际)\S")
_DONE = Lazy(r"(?:已经?|刚刚?|又)?[\u4e00-\u9fff]{1,3}了(?!的)|.*(?:更新|处理|修改|调整|优化)一下$")


def tells_what_was_done(clause: str) -> bool:
    """Whether a clause tells what was just done: "构建都通过了"."""
    return clause.endswith("了") and _DECIDED.match(clause) is None


def tells_trouble(clause: str) -> bool:
    """Whether a clause tells of trouble, rather than how trouble is told."""
    return _tells_trouble(clause)


def plain_kind(clause: str, *, in_task: bool, in_spec: bool) -> EntryKind | None:
    """Return what a clause lays down by its grammar alone; None when it lays down nothing."""
    if in_spec and tells_of_product(clause):
        return None
    if in_task and _SPARES.match(clause):
        return None
    kind = _known_kind(clause, in_task=in_task)
    if kind is not None or _QUESTION.search(clause) or TASK.match(clause) or _NOW.search(clause):
        return kind
    if _tells_trouble(clause) or tells_of_product(clause) or (_DONE.match(clause) and not _IS_CHOSEN.match(clause)):
        return None
    if any(pattern.match(clause) for pattern in (_MODAL, _JUST_DO, _STYLE_TAIL, _TOO, _NEEDS)):
        return EntryKind.PREFERENCE
    return (
        EntryKind.KNOWLEDGE
        if any(each.match(clause) for each in (_BY_WHOM, _WINDOW, _NAMED_IS, _IS_CHOSEN, _GOES_IN))
        else None
    )


def _known_kind(clause: str, *, in_task: bool) -> EntryKind | None:
    scene = _WHEREVER.match(clause)
    if scene and not _NOW.search(clause):
        return EntryKind.PREFERENCE
    careful = _CAREFUL.match(clause) is not None
    if _QUESTION.search(clause) or TASK.match(clause) or (_NOW.search(clause) and not _ASKS_FIRST.match(clause)):
        return None
    if _IF_POSSIBLE.match(clause):
        return EntryKind.PREFERENCE
    if _DECIDED.match(clause) and not _TROUBLE.search(clause):
        return EntryKind.DECISION
    if _ASKS_FIRST.match(clause):
        return EntryKind.PREFERENCE
    if _IS_NOT.match(clause) and not _TROUBLE.search(clause):
        return EntryKind.KNOWLEDGE
    if _CONTRASTS.fullmatch(clause) or _forbids(clause) or _MANNER.match(clause):
        return _about(clause)
    if _SELF.match(clause) or _WISH.match(clause):
        return EntryKind.PREFERENCE
    if _tells_trouble(clause) and not careful:
        return None
    if _ORDERED.match(clause):
        return EntryKind.PROCEDURE
    if _MEASURE.fullmatch(clause) or _EVERY.match(clause):
        return EntryKind.PREFERENCE
    if not careful and _tells_trouble(clause):
        return None
    if _WE_FACT.match(clause) or _PROJECT_FACT.match(clause):
        return EntryKind.KNOWLEDGE
    if in_task:
        return None
    if _CRAFT_RULE.match(clause) and not _names_a_state(clause):
        return EntryKind.PREFERENCE
    return EntryKind.KNOWLEDGE if _INFRA_FACT.match(clause) else None


_OTHERWISE = re.compile(r"[，,]?(?:不然|否则|要不然?|免得|以免|防止)")
_NAMES_TROUBLE = Lazy(r"(?:所有|全部)?(?:报错信息|错误信息|错误码|异常|错误|报错|失败|超时时间)")


def _tells_trouble(clause: str) -> bool:
    """Whether a clause tells of trouble, rather than how trouble is told."""
    clause = _OTHERWISE.split(clause, 1)[0]
    named = _NAMES_TROUBLE.match(clause)
    return _TROUBLE.search(clause, named.end() if named else 0) is not None


_PROJECT = Lazy(r"(?:这个|本|我们的?)?(?:项目|仓库|工程|系统|服务)")
_STATE = Lazy(r"[^，,]{1,14}(?:是|跑在|部署在|存在|放在|在)(?!用|以)")


def _about(clause: str) -> EntryKind:
    return EntryKind.KNOWLEDGE if _PROJECT.match(clause) and "是" in clause else EntryKind.PREFERENCE


def _names_a_state(clause: str) -> bool:
    return _STATE.match(clause) is not None


def _forbids(clause: str) -> bool:
    match = _FORBIDS.fullmatch(clause)
    if match is None or _TROUBLE.search(match["scene"]):
        return False
    return not clause.endswith(("了吧", "不了"))
