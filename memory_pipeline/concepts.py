"""What the words of a text are about, for search: words of the field that mean the same share one concept.

Only words that software people use for one another, in English and Chinese. A concept counts less than the word itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from functools import cache

from memory_pipeline.terms import terms_of

#: One line a concept. Words joined with ``_`` stand for those words in a row.
_GROUPS = """
commit check_in 提交
lint linter
test spec suite testcase 测试 用例 单测
run execute execution launch start invoke 运行 执行 启动 跑
deploy deployment ship release rollout publish go_live 部署 上线 发布
dependency deps dep package library requirement 依赖 包 库
install installation setup set_up 安装 装
delete deletion remove removal drop erase purge 删除 移除 去掉 清除
fix repair mend patch resolve 修复 修好 修正 修
bug defect error fault failure crash exception 错误 报错 缺陷 故障 崩溃 失败 异常
main master trunk 主分支 主干
push upload_to 推送
merge 合并
pull_request merge_request pr mr 合并请求
review approve reviewer 评审 审查 审核
config configuration settings setting preference options 配置 设置 选项
database db sql postgres postgresql mysql sqlite 数据库
schema migration migrate 表结构 迁移
column field 字段 列
server host machine 服务器 主机
production prod live 生产环境 线上
staging test_environment test_server 测试环境 测试服务器
frontend front_end browser 前端 浏览器
backend back_end 后端
ui user_interface gui screen page 界面 页面
user customer client account 用户 客户 账号
login log_in sign_in signin logon authentication auth 登录 登陆 认证
password secret credential passphrase 密码 密钥 口令 凭据
log logging print output 日志 打印 输出
email mail e-mail 邮件 邮箱
performance speed slow fast quick latency benchmark 性能 慢 快 速度
memory ram heap 内存
image picture photo thumbnail 图片 照片 缩略图
folder directory 文件夹 目录
docs documentation document readme comment 文档 注释 说明
format style formatter indentation indent whitespace 格式 风格 缩进
function method procedure routine 函数 方法
argument parameter option flag 参数
api endpoint interface route 接口
job worker task background queue 队列 任务 后台
cron schedule nightly midnight overnight 定时 夜里 半夜 晚上 夜间
retry again repeat twice duplicate 重试 重复 再次
build compile compilation make 构建 编译
container docker podman 容器 镜像
timezone utc time date timestamp 时区 时间 日期
search lookup find query 搜索 查询 查找 搜
backup snapshot 备份
report dashboard chart 报表 看板
translation translate locale i18n wording language 翻译 语言
upload import 上传 导入
mobile phone ios android iphone 移动端 手机
ticket issue story 工单 需求
squash combine 压缩 合成
feature functionality capability 功能
check validate verify validation verification 检查 校验 验证
toggle feature_flag switch 开关
global shared 全局 公共
mock stub fake dummy 模拟
flaky intermittent unstable sometimes 不稳定 时好时坏
nested nesting deeply 嵌套
rename name naming 命名 改名 名字
typecheck type types typing mypy annotation 类型 标注
rollback revert undo reversible 回滚 撤销
timeout hang stuck slow_down 超时 卡住
permission access role 权限
proxy gateway 代理 网关
refactor restructure simplify clean_up cleanup 重构 简化
version release_number 版本
ci pipeline actions jenkins 流水线 持续集成
editor ide vscode vim 编辑器
repo repository project 仓库 项目
"""

_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
#: A word of a sentence, with what may stand around it.
_PLAIN = re.compile(r"[\"'“‘(\[]*([A-Z]?[a-z]+(?:-[a-z]+)?|[A-Z]{2,5})(?:'s)?[\"'”’)\],;:.!?]*")
_MOST_WORDS = 2  # of a concept's words in a row


@cache
def _known() -> dict[str, str]:
    """Return the concept of each term, or of terms in a row with ``_`` between them."""
    known: dict[str, str] = {}
    for line in _GROUPS.split("\n"):
        words = line.split()
        for word in words:
            if not _UNSPACED.match(word):
                terms = [terms_of(part)[-1] for part in word.split("_")]
                known.setdefault("_".join(terms), words[0])
    return known


@cache
def _unspaced() -> tuple[re.Pattern[str], dict[str, str]]:
    known: dict[str, str] = {}
    for line in _GROUPS.split("\n"):
        words = line.split()
        known |= {word: words[0] for word in words if _UNSPACED.match(word)}
    # The longest first: 合并请求 is no 合并.
    return re.compile("|".join(sorted(known, key=lambda word: (-len(word), word)))), known


def concepts_of(text: str) -> list[str]:
    """Return the concepts of a text, each once. Only of plain words: what an identifier is made of tells of itself."""
    known = _known()
    terms = [_plain_term(word) for word in text.split()]
    found: dict[str, None] = {}
    for place in range(len(terms)):
        for length in range(1, _MOST_WORDS + 1):
            concept = known.get("_".join(terms[place : place + length]))
            if concept is not None:
                found[concept] = None
    pattern, words = _unspaced()
    for match in pattern.finditer(unicodedata.normalize("NFKC", text)):
        found[words[match.group()]] = None
    return list(found)


def _plain_term(word: str) -> str:
    """Return the term of a plain word, "" for anything else."""
    found = _PLAIN.fullmatch(word)
    return terms_of(found.group(1))[-1] if found else ""


def words_that_count(terms: Collection[str]) -> list[str]:
    """Return the terms of a query without those that merely hold a sentence together; all, where nothing is left."""
    left = [term for term in terms if term not in _FUNCTION_TERMS]
    return left or list(terms)


#: What merely holds a sentence together.
_FUNCTION_WORDS = """
a an the this that these those i me my we us our you your he she it its they them their who whom whose which what
where when why how is are was were be been being am do does did done doing have has had having can could may might must
shall should will would of to in on at by for from with without into onto over under about as than then so and or but if
not no nor too very just also only there here up down out off again please let's lets i'm it's don't doesn't can't isn't
want need any some all each every other more most such own same
什么 怎么 么样 为什 可以 以吗 是否 哪里 哪个 应该 该怎
这个 那个 这些 我们 你们 他们 一个 一下 的时 时候 我的 是不 不是 了吗 吗 的 了 呢
"""
_FUNCTION_TERMS = frozenset(term for word in _FUNCTION_WORDS.split() for term in terms_of(word))
