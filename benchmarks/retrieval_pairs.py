"""What is remembered, and how somebody asks for it in other words. Written by hand, before search was tuned on it.

Each line is a memory, two bars, and a task or question for which it should be found. Of English and Chinese there are
two tasks: the first says it in other words altogether, the last shares a word or two, in whatever form. Every second
line (the 2nd, the 4th, …) is held out: no rule of search was chosen by looking at a single result there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

ENGLISH = """
Always run make lint before you commit || I want to check the code style prior to committing || run the linter before committing
Never push to main without asking me || can I send this straight to the master branch? || push the fix to main
From now on use pnpm for packages here, not npm || install a new dependency || add packages with pnpm
Integration tests need a running Postgres on port 5433 || the database tests cannot connect, what is missing || postgres for the integration tests
Release notes go into CHANGELOG.md under Unreleased || where do I document what is new in this version || write the release note for this change
Keep functions below forty lines || this method has become very long || split functions that are too long
Deployments go out on Mondays only || when may we ship this to production || deploy on Tuesday?
Use feature flags for everything that customers can see || roll out a visible change to users safely || hide the new customer page behind a feature flag
Log messages must not contain email addresses || is it ok to print the user's mail in the logs || log the email of the user
The staging server is rebuilt every night || why did my data on staging disappear || staging server lost its database
Answer me in short sentences without bullet points || explain what this module does || answer with a bullet list
Money is stored in cents as whole numbers || add a price column to the orders table || store the money amounts of an order
Dates in the API are always in UTC || which timezone should the endpoint return || return the date in the API response
Write a regression test for every bug that you fix || I repaired the crash, what else is needed || fix the bug in the parser and test it
Don't mock the database in tests || how should the repository layer be unit tested || mock the database for faster tests
The cart total is wrong when a coupon and a gift card are combined || sum in the basket incorrect with voucher || cart total with a gift card
Prefer composition over inheritance || should I make a base class for these handlers || refactor the classes to use inheritance
The CI cache must be cleared after changing the lock file || build on the server uses stale packages || clear the cache of CI
Open a draft pull request first, then ask for review || how do I submit my changes to the team || open a pull request for the fix
Names of branches begin with the ticket number || create a new branch for this issue || name the new branch
The import of large spreadsheets runs out of memory above 50 MB || uploading a big Excel file crashes the worker || importing spreadsheets uses too much memory
Use tabs for indentation in Makefiles || formatting of the make rules || indent the Makefile
Error messages tell the user what to do next || word the failure text in the dialog || improve the error messages of the form
The payment provider retries webhooks for three days || we receive the same notification from the bank again and again || webhooks of the payment provider arrive twice
Flaky tests are quarantined, not deleted || a test fails sometimes, what should we do with it || delete the flaky test
We decided on GraphQL for the mobile app and REST for partners || what kind of interface do I build for phones || decide between REST and GraphQL
The search index is updated with a delay of five minutes || a new product does not show up in the results at once || product missing from the search index
Images are resized by the CDN, never by the backend || generate thumbnails of uploaded pictures || resizing images in the backend
Secrets are read from the vault, never from environment files || where do I get the password for the service || read the secret in the deploy script
The nightly backup takes the reports offline for ten minutes || dashboard unavailable around midnight || reports offline during the backup
Use conventional commits with a scope || what should the commit message look like || write the commit for the scope of checkout
Accessibility checks must pass before a page is merged || screen reader support of the new form || merge the page after the accessibility check
Do not use global state in the frontend || keep the logged in person in a shared variable || add global state for the user in the frontend
The old billing service is frozen; new code goes into invoices || add a field to the bills || change billing service code
Comments explain why and not what || document this tricky piece of code || add comments to the scheduler
Background jobs must be idempotent || the worker may execute a task twice || retry a background job
The login page is slow because the avatar service times out || signing in takes ages || slow login page
Ask before you add a new dependency || may I use lodash for this || add the dependency moment
Rate limits are per account and not per IP address || too many requests error for one customer || rate limiting by IP address
The customer id is not unique across regions || duplicate client keys in Europe and Asia || make customer ids unique
Type annotations are required for public functions || does mypy have to understand this helper || annotate the public function
Use the shared date picker instead of the native one || let the user choose a day in the form || add a date picker
Translations live in the locales folder and are reviewed by Ana || change the German wording of a button || add translations for French
Migrations must be reversible || write a schema change for the new column || write a migration that drops a column
Benchmarks run on the quiet machine in the office only || measure how fast the parser is || run the benchmark of the renderer
Query parameters are validated with zod || check the input of the request handler || validate the query parameters of the list page
The mobile build needs Xcode 15 || compile the iPhone app || mobile build fails on Xcode 14
Always squash before merging || combine my commits into one || merge this branch with its five commits
Public endpoints are versioned in the path || introduce a breaking change in the API || new version of the public endpoint
The email queue is drained by a cron job every minute || when are the messages to customers sent out || emails stay in the queue
Large files belong into object storage, not into git || where to put the training videos || commit large test files
Feature work stops two days before a release || can I still add something this week || finish the feature a day before the release
Prefer early returns to nested conditions || simplify these deeply nested ifs || nested conditions in the validator
The memory leak came from listeners that were never removed || RAM usage of the browser tab keeps growing || find the memory leak in the listeners
Use British spelling in the user interface || color or colour on the settings page || spelling in the interface
Tests for the parser use golden files || how do I update the expected output of the grammar tests || update the golden files of the parser
Support tickets are linked in the pull request || mention the complaint of the client in my change || link the ticket in the pull request
The proxy strips headers that begin with X-Internal || a custom header does not arrive at the server || headers lost behind the proxy
Docker images are built from the slim base || choose the parent image for the container || make the docker image smaller
Never log out users during a deployment || sessions are lost when we release || users logged out by a deployment
"""

CHINESE = """
提交代码之前先跑 make lint || 我要提交了，需要做什么检查 || 提交之前要跑什么
不要直接推送到主分支 || 可以把改动直接 push 到 main 吗 || 推送到主分支
以后这个仓库用 pnpm，不要用 npm || 安装一个新的依赖包 || 用 pnpm 装包
集成测试需要在 5433 端口启动数据库 || 数据库测试连不上 || 数据库集成测试的端口
发布说明写进更新日志 || 新版本的变化记录在哪里 || 写发布说明
函数不要超过四十行 || 这个方法太长了 || 拆分太长的函数
只在星期一部署 || 什么时候可以上线 || 星期五部署
用户看得到的功能都要加开关 || 怎么安全地给客户灰度新功能 || 给用户的新功能加开关
日志里不能出现邮箱地址 || 打印用户邮件可以吗 || 日志里打印邮箱
测试环境每天晚上重建 || 为什么测试服务器上的数据没了 || 测试环境的数据丢了
回答要简短，不要列表 || 解释一下这个模块 || 回答用列表
金额用整数的分来保存 || 订单表里加一个价格字段 || 保存金额
接口里的时间一律用 UTC || 返回的日期应该是哪个时区 || 接口返回时间的时区
每修一个错误都要补一个回归测试 || 我修好了崩溃，还要做什么 || 修错误时写测试
测试里不要模拟数据库 || 仓储层的单元测试怎么写 || 测试里模拟数据库
优惠券和礼品卡一起用时购物车总价会算错 || 购物车金额不对 || 购物车里用优惠券
优先用组合而不是继承 || 要不要给这些类写一个基类 || 用继承重构
改了锁文件之后要清理构建缓存 || 服务器上的构建用了旧的依赖 || 清理构建缓存
先开草稿合并请求，再找人评审 || 怎么提交改动让同事审查 || 合并请求先找谁评审
分支名以工单号开头 || 为这个问题新建一个分支 || 新分支的名字
导入超过五十兆的表格会内存不足 || 上传很大的 Excel 文件会崩溃 || 导入表格时内存不足
注释写为什么，不写做什么 || 给这段复杂的代码加说明 || 给函数写注释
错误提示要告诉用户下一步怎么办 || 对话框里的报错文案 || 改进错误提示
支付平台会连续三天重试回调 || 重复收到银行的通知 || 支付回调重复了
不稳定的测试先隔离，不要删除 || 有个用例时好时坏 || 删除不稳定的测试
移动端用 GraphQL，合作方用 REST || 给手机应用提供什么接口 || 移动端接口选 GraphQL 吗
搜索索引有五分钟延迟 || 新商品搜不到 || 搜索索引没有新商品
图片由 CDN 缩放，后端不处理 || 给上传的照片生成缩略图 || 后端缩放图片
密码从保险库读取，不要写在环境文件里 || 服务的密钥放哪里 || 读取密码
夜间备份时报表会停十分钟 || 半夜打不开看板 || 备份时报表打不开
提交信息用英文写 || commit message 用什么语言 || 写提交信息
页面合并前要通过无障碍检查 || 新表单的读屏支持 || 合并页面之前的检查
前端不要用全局状态 || 登录用户保存在公共变量里 || 在前端加全局状态
旧的计费服务已经冻结，新代码写到发票服务 || 在账单里加一个字段 || 修改计费服务
后台任务必须可以重复执行 || 任务可能会跑两次 || 后台任务重试
登录页慢是因为头像服务超时 || 登陆要等很久 || 登录页太慢
添加新的依赖之前先问我 || 可以引入 lodash 吗 || 添加依赖
限流按账号算，不按地址算 || 某个客户一直提示请求太多 || 按地址限流
客户编号在不同地区会重复 || 欧洲和亚洲的用户 ID 冲突 || 客户编号重复
公开函数必须有类型标注 || 这个辅助函数需要写类型吗 || 给函数加类型
日期选择用公共组件 || 表单里让用户选日期 || 日期选择组件
翻译文件由小安审核 || 修改德语的按钮文字 || 审核翻译
数据库迁移必须可以回滚 || 给新字段写表结构变更 || 写一个数据库迁移
性能测试只在办公室的安静机器上跑 || 测一下解析器有多快 || 跑性能测试
请求参数用 zod 校验 || 检查接口的输入 || 校验请求参数
构建移动端需要 Xcode 15 || 编译苹果应用 || 构建移动端失败
合并之前先压缩提交 || 把我的几个 commit 合成一个 || 合并提交
公开接口的路径里带版本号 || 接口要做不兼容的修改 || 新增公开接口
邮件队列每分钟由定时任务发送 || 给客户的信什么时候发出去 || 邮件队列没有发送
大文件放对象存储，不要放进 git || 培训视频存到哪里 || 把大文件放进 git
发布前两天停止开发新功能 || 这周还能加需求吗 || 发布前开发新功能
尽早返回，少写嵌套判断 || 简化多层 if || 嵌套判断太多
内存泄漏是因为监听器没有移除 || 浏览器标签页占用内存越来越大 || 查内存泄漏
界面文字用简体中文 || 设置页用繁体还是简体 || 界面的文字
解析器的测试用快照文件 || 怎么更新语法测试的期望输出 || 更新解析器的测试文件
合并请求里要关联客户工单 || 改动里要不要提客户的投诉 || 合并请求要写工单号吗
代理会去掉内部请求头 || 自定义 header 到不了服务器 || 代理丢了请求头
镜像用精简的基础镜像 || 容器的父镜像选哪个 || 选择基础镜像
部署时不能让用户掉线 || 上线的时候会话会丢 || 部署时用户掉线了
销售报表要先连接只读数据库 || 九月的销售数据怎么查 || 连接数据库查销售报表
"""

IDENTIFIERS = """
getUserName caches its result for ten minutes || user name is stale after an update
Set the flag --no-cache when the lock file changed || build with --no-cache
The cache key is built in foo.bar || what does foo.bar do
src/cart/total.ts rounds half up || rounding in total.ts
The variable DATABASE_URL must point at the replica || database url for reports
OrderRepository.findOpen is slow without an index || find open orders takes long
Run tools/gen-proto.sh after editing schema.proto || regenerate after changing schema.proto
Use --frozen-lockfile in CI || frozen lockfile
HttpRetryPolicy gives up after three tries || where is the retry policy for http
The file config/settings.local.toml is not tracked || settings.local.toml missing in git
parseInvoiceXml fails on empty nodes || parse an invoice with empty elements
ERR_TLS_CERT_ALTNAME_INVALID means that the proxy is off || ERR_TLS_CERT_ALTNAME_INVALID
test_total_with_coupon depends on the order of the fixtures || total with coupon test fails alone
Don't call Session.commit in views.py || commit in views.py
The port is read from APP_HTTP_PORT || http port of the app
useCartStore must not be called on the server || cart store during server rendering
docker-compose.override.yml turns on the debugger || override.yml
kubectl rollout restart needs --namespace shop || restart the rollout in the shop namespace
PaymentWebhookController verifies the signature first || signature of the payment webhook
numpy.float128 is missing on Windows || float128
Set max_old_space_size to 4096 for the build || old space size
The class CSVImporter reads at most 10000 rows || csv importer limit
python -m app.migrate --fake marks steps as done || app.migrate --fake
ENOSPC comes from the inotify limit || ENOSPC while watching
The hook useDebouncedValue waits 300 ms || debounced value delay
infra/terraform/main.tf pins the provider || provider version in main.tf
TS2307 appears when paths is not set in tsconfig.json || TS2307 cannot find module
The endpoint /api/v2/orders returns pages of fifty || orders endpoint of v2
FeatureFlags.isEnabled takes the user's id || is enabled for a user
Use ruff check --fix, not autopep8 || autopep8
pg_stat_statements is on in staging || stat statements
makeRequestId is shared by client and worker || request id in the worker
The header X-Request-Id is set by nginx.conf || x-request-id
LocalDateTime.now must not be used; inject the Clock || local date time now
web/src/i18n/de.json is sorted by key || i18n de.json
The task build:docs needs graphviz || build:docs
Redis key session:user is kept for a week || session:user
S3_BUCKET_NAME differs between regions || bucket name per region
The script bin/setup-dev installs the git hooks || setup dev hooks
AbstractUserFactoryBean is deprecated || user factory bean
Version 4.17.21 of lodash breaks the bundle || lodash 4.17.21
OAuth2TokenRefresher must run before the scheduler || token refresher
pytest -k "not slow" is the quick suite || -k "not slow"
JSONDecodeError in load_fixture means a missing file || load fixture raises a decode error
The table order_line_items has no foreign key || line items table
GOFLAGS=-mod=vendor is set in the Makefile || -mod=vendor
renderToPipeableStream needs Node 18 || pipeable stream
utils/date_helpers.py is generated || date helpers
Exit code 137 means that the container ran out of memory || exit 137
The macro ASSERT_ALMOST_EQUAL compares ten digits || almost equal assertion
com.example.shop.CartService is a singleton || cart service singleton
The environment variable CI_COMMIT_SHORT_SHA tags the image || commit short sha
libfoo.so.2 is loaded from /opt/foo/lib || libfoo.so.2
npm run e2e:headed opens the browser || e2e:headed
ImageResizeJob is retried five times || image resize retry
The option noUncheckedIndexedAccess is on || unchecked indexed access
handle_timeout in worker.rs swallows errors || timeout handling in worker.rs
The branch release/2026.10 gets security fixes only || release/2026.10
GET /healthz answers before the database is up || healthz
UserPreferencesSerializer drops unknown keys || preferences serializer
"""

#: The sets by name: the lines, and which of the tasks of each is asked.
SETS: Mapping[str, tuple[str, int]] = {
    "English": (ENGLISH, 2),
    "English, other words": (ENGLISH, 1),
    "Chinese": (CHINESE, 2),
    "Chinese, other words": (CHINESE, 1),
    "identifiers": (IDENTIFIERS, 1),
}


def pairs_of(name: str) -> Sequence[tuple[str, str]]:
    """Return the memories of a set, each with its task."""
    lines, number = SETS[name]
    parts = [[part.strip() for part in line.split("||")] for line in lines.splitlines() if line.strip()]
    return [(part[0], part[number]) for part in parts]
