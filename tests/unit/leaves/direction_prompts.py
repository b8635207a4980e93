"""Invented prompts as people type them to coding agents: those that lay something down, and those that do not.

One prompt a line. In the first two, words after `` => `` must stand in one direction; ``&`` joins several such words.
"""

from __future__ import annotations

LASTING_IN_ENGLISH = """
Don't touch the vendor/ directory.
No emojis in code or commit messages please
Never commit directly to main; open a PR instead => Never commit directly to main & open a PR instead
Keep responses short.
Use British spelling in docs
Prefer composition over inheritance.
Use ruff. Not flake8. => Use ruff & flake8
When you write commit messages, use the imperative mood => When you write commit messages & imperative
Whenever tests are slow, run them with -n auto
You should ask me before deleting files
This repo uses tabs
We deploy from the release branch only
In this project, all timestamps are UTC
branch names start with feat/
the staging DB lives at db-staging.internal:5433
fyi we switched from Jenkins to GitHub Actions last month
our API is versioned under /v2
I work in Berlin time
I'm a data scientist, not a programmer, so explain things simply
For database migrations we always go through alembic, don't hand-edit the schema => alembic & hand-edit
And in all my projects: never add a license header
from here on out, type hints on every function => type hints
as a rule we don't mock the database in tests
once and for all: no default exports
in general I want small commits
Fix the flaky cart test. And please don't add new dependencies without asking. => don't add new dependencies
rename UserDto to UserView everywhere in src/api. Btw I prefer named exports. => I prefer named exports
can you write the release notes? keep the tone neutral, no marketing words, in all release notes => no marketing words
don't run docker commands, I'll do that myself
Do not use any type in TypeScript
all public functions need docstrings
every PR needs a changelog entry
tests go in tests/, mirroring the src/ layout
function names in snake_case, class names in PascalCase
SQL keywords uppercase please, always
wrap lines at 100 characters
one assertion per test
I don't like it when you rewrite whole files, make minimal edits => rewrite whole files
Show me a plan before you change anything
ask first before installing packages
after changing the proto files, run make gen
before pushing, always run `make check`
to run the tests use `just test`, plain pytest won't pick up the env => just test
the way we release: bump the version in pyproject, tag, then push the tag => bump the version
each time you add an endpoint, update openapi.yaml too
if you change a model, also regenerate the fixtures with `python scripts/fix.py`
Let's go with Redis for the session store
we decided against GraphQL, REST it is => against GraphQL
I've settled on Tailwind for styling
we're moving to Postgres 16
we'll keep the monolith, no microservices => keep the monolith
the main service is in Go, the scripts are in Python
production runs on Kubernetes in eu-west-1
our CI takes 40 minutes so don't wait for it => CI takes 40 minutes
the default branch is called trunk
we support Python 3.9 and up
Node 20 is what we run in prod
the frontend lives in apps/web and the backend in apps/api => apps/web & apps/api
this is a monorepo managed with pnpm workspaces
the admin panel is only reachable over VPN
config is loaded from config/settings.toml, not from env vars
note that prices are stored in cents
ids are ULIDs in this codebase
fyi the `legacy/` folder is frozen => legacy
I'm on Windows so give me PowerShell commands
I'm new to Rust, explain lifetimes when you use them
call me Sam
no trailing summaries after each edit, I can read the diff => no trailing summaries
stop apologising
be brief
reply in French
across all repos: sign your commits with -s
no matter which project, don't push without my ok
we use pnpm here instead of npm
actually no, we're using vitest now, jest is gone => vitest
that's not right, the queue name is orders-v2, not orders => orders-v2
no, the config file is called app.yaml => app.yaml
hands off the generated code under src/gen
Leave the public API alone unless I tell you otherwise
We write tests first, then code
Please answer in bullet points, not paragraphs
use American English
Use dataclasses rather than dicts for structured data
Type annotate everything
comments only where the code isn't obvious
No console.log in committed code.
No force pushes, ever.
nothing goes into master without a review
don't create branches yourself
don't ever skip the pre-commit hooks
you must not modify anything in third_party
you can commit but never push
Always squash before merging, and delete the branch afterwards => squash before merging & delete the branch
If a test is flaky, tell me instead of retrying it
if unsure, ask
when in doubt, go for the simpler solution
For Python code, follow PEP 8 with a line length of 120 => PEP 8
in TypeScript, prefer interfaces over type aliases
SQL goes in .sql files, not in strings
secrets belong in Vault, never in the repo
Errors should be logged with structlog, not print
I hate long functions, split them up
I'd like you to write tests for every bug fix
I expect every new feature to come with docs
can you please always show me the diff before committing?
could you stop adding type comments?
from this point on use the v2 client
next time don't delete my comments
Implement the CSV export. Use the house style: 2 spaces, single quotes, no semicolons. => 2 spaces, single quotes
fix the typo in the footer, and remember that we write "e-mail" with a hyphen => e-mail
Clean up the parser. Don't use regexes for HTML, ever. => Don't use regexes for HTML
Upgrade the linter config. By the way, our line length limit is 88. => line length limit is 88
refactor the billing module, and as always no breaking changes to the public interface => no breaking changes
globally: dark theme in every UI you build for me
in every repo I own, the license is MIT
regardless of the project, don't use tabs
I use zsh on a Mac
I'm colour blind, so no red/green in charts => colour blind
my time zone is US Pacific
English is not my first language, keep it simple
I review everything on my phone so keep diffs small
you talk too much, keep it to three sentences => three sentences
treat warnings as errors
Write commit messages in the form "area: what changed"
commits should be signed off
only touch files related to the task
no new dependencies
Don't use mocks; use the fake server in tests/fakes => Don't use mocks & fake server
Indent with tabs in this repo, never spaces
Run `npm run typecheck` after every change
After each migration, dump the schema with make schema
when adding a new service, register it in services.yaml
before you open a PR, rebase onto main
to deploy, run ./deploy.sh staging first and check the dashboard
tests are run with tox -e py311
you need to source .env before starting the server
every time the API changes, bump the minor version
Remember: in this project, always run make fmt before you commit => always run make fmt
We've agreed to drop IE11 support
decision: the queue will be SQS
we're going with Terraform over Pulumi
I've chosen FastAPI over Flask for this service
from now on we ship weekly, on Tuesdays
let's standardise on ISO 8601 dates
we're dropping MySQL, Postgres only => dropping MySQL
Our linter is eslint with the airbnb config
we host everything on Hetzner
The database is Postgres 15 and it runs in docker compose
the API keys are kept in 1Password
The `payments` service is owned by another team
deploys happen automatically when a tag is pushed
we have two environments, staging and prod
the build artifacts end up in dist/
translations are in locales/*.json
feature flags are managed with Unleash
we don't have a Windows build
all our services log JSON to stdout
Our minimum supported iOS version is 15
the project is licensed under Apache 2.0
migrations are in db/migrate and are numbered by date => db/migrate
the customer id is a string in our system, not an int
The metrics endpoint is on port 9102
we're on Django 4.2, can't upgrade yet => Django 4.2
the company is called Globex, not GlobEx
keep your hands off the Makefile
I only want to see the changed lines, not the whole file
Do not add comments that restate the code
Error messages start with a lower case letter
every module has its own README
we name test files after the module they test
never leave debug prints behind
let me approve the plan before you write code
Speak plainly, no buzzwords
give me the short version
Exceptions must be typed, no bare except => no bare except
always explain why, not what, in comments
don't use abbreviations
stick to the existing code style
Stop asking for confirmation on trivial edits
new code must be covered by tests
I'm left handed so the shortcuts need to work with that => left handed
Fix the broken import. And one general thing: stop reordering my imports. => stop reordering my imports
In all repositories of mine, commits are GPG signed
Public methods first, private ones below
Magic numbers are a no-go
avoid premature abstraction
you don't have to ask before running tests
I have a bad internet connection, so avoid big downloads
when reviewing, be harsh
whatever you do, don't drop tables
leave formatting to prettier
Work in small steps and show me each one
Log levels: info for business events, debug for the rest
Inside src/core nothing may import from src/ui
Anything that touches auth needs a second pair of eyes, so ask me => ask me
Migrations are created with `alembic revision --autogenerate`, then reviewed by hand
after merging, delete the branch
New endpoints? First the OpenAPI spec, then the code. => First the OpenAPI spec, then the code
bump the schema version whenever you change a table
To add a translation, edit en.json and run make i18n
We agreed on Mongo for the catalogue
I decided to ditch webpack in favour of vite
let's make SQLite the default
Sticking with Express, no Nest
our monolith is called "heimdall"
everything under /internal requires mTLS
The customer database has about 40 million rows
we use feature branches and merge with squash
CI needs the NPM_TOKEN secret
prod has no outbound internet
there are two databases: orders and analytics
the scheduler is Celery beat
The cache TTL is 5 minutes in prod
our error tracker is Sentry
we ship to customers on the first Monday of the month
The default locale is de-CH
fixtures are generated by scripts/make_fixtures.py
nobody uses the old SOAP endpoint any more
the `core` package must stay free of Django imports
there is no staging environment
be careful with the payments module, nobody really understands it => payments module
I'd appreciate shorter pull request descriptions
commit on green only
please respect the .editorconfig
Copyright headers must not be changed
I'll handle git, you just edit files => you just edit files
German umlauts in user-facing strings, never ae/oe/ue => umlauts
don't hardcode colors, take them from the theme => don't hardcode colors & from the theme
prefix private helpers with an underscore
Always run things through poetry run
No new global state!
when you refactor, keep behaviour identical
we don't do pair of tests and code in one commit
Fix the date picker on Safari. Oh and I hate nested ternaries, don't use them. => nested ternaries
could you add the missing null check? also please never use lodash for one-liners => never use lodash
I speak German and English, either is fine
Mobile first, always
comments in code: English only
never trust the README, it's outdated => never trust the README
I value readability over cleverness
test names should read like sentences
before you finish, run the whole test suite
deployments go through ArgoCD, never kubectl apply by hand => ArgoCD & kubectl
If CI fails on formatting, run make fmt and amend
The release checklist is in docs/release.md, follow it every time
we'll go with feature flags instead of long-lived branches
Decided: no more Python 2
OK so we're using uv from now on, poetry is out
the legacy importer is in Perl
payments are handled by Stripe
Our main customer runs Oracle 12
each microservice has its own database
the schema is generated from the Go structs
main is deployed automatically, every merge goes live => main is deployed automatically
builds need at least 8 GB of RAM
our code style is enforced by rustfmt
the old dashboard will be shut down in June
I'm the only developer on this
The team lead is Maria
"""

LASTING_IN_CHINESE = """
这个项目用 pnpm，别用 npm => pnpm & npm
接口统一返回 JSON
端口改成 9090 了，不是 8080 => 9090 & 8080
这个仓库的默认分支是 develop
不要修改 vendor 目录
测试跑之前先执行 make db-reset
凡是改动数据库的，都要先问我
提交信息用英文写
代码里不要有中文注释
回答简短一点，不要长篇大论 => 简短
以后不用每次都解释，直接给代码 => 直接给代码
一律用 4 个空格缩进
务必保留原有的注释
帮我把登录接口改成异步的。另外别动 legacy 目录。 => 别动 legacy 目录
修一下首页的样式，以后颜色都用变量，不要写死 => 颜色都用变量 & 不要写死
先写测试再写实现
改完代码要跑一遍 pnpm lint
发版之前先更新 CHANGELOG
我们的后端是 Spring Boot，前端是 Vue3 => Spring Boot & Vue3
测试环境的数据库在 10.0.3.12:3306
线上用的是 Node 18
时间统一存 UTC
我们部署在阿里云上
金额单位是分，不是元 => 分 & 元
我是做数据分析的，不太懂前端 => 数据分析
我习惯用 vim
无论哪个项目，都不要自动提交 => 不要自动提交
在所有项目里都不要用 any
决定了，用 RabbitMQ 做消息队列 => RabbitMQ
缓存就用 Redis 吧，不上 Memcached 了 => Redis
我们已经从 Jenkins 迁到 GitHub Actions 了
commit message 用英文，遵循 conventional commits => commit message 用英文
PR 标题里带上 JIRA 编号
staging 的地址是 https://staging.acme.test
写 TypeScript 的时候不要用 enum
test 文件放在 __tests__ 目录下
没有我的允许不要推送代码
禁止直接改生产数据库
变量名用驼峰
函数不要超过 50 行
不要用 var，用 const => 不要用 var & const
尽量少加依赖
注释写中文，变量名写英文 => 注释写中文 & 变量名写英文
所有接口都要写单元测试
每个函数都要有类型注解
不确定的时候先问我
删文件之前必须跟我确认
你别自己建分支
别再加 emoji 了
请始终用简体中文跟我交流
说重点，别啰嗦 => 别啰嗦
日志用 loguru，不要 print => loguru & print
把导出功能写完，记得以后文件名都用小写 => 文件名都用小写
看一下这个报错。对了，我们这边不用 mock，测试都连真实数据库。 => 不用 mock & 真实数据库
不管什么项目，commit 都要写清楚原因 => 写清楚原因
我所有的项目都用 MIT 协议
每次改完接口都要更新文档
部署用 ./deploy.sh，别手动 scp => deploy.sh & scp
提 PR 之前先 rebase 一下 main
新增表要先写 migration
启动服务前需要先 source .env
我们公司内网不能访问外网
前端代码在 web/ 目录，后端在 server/ => web/ & server/
项目用的是 Python 3.11
数据库是 MySQL 8，字符集 utf8mb4 => MySQL 8
我们的 API 都在 /api/v2 下面
分支命名规则是 feature/编号-描述
CI 跑在自建的 GitLab Runner 上
这个项目不支持 Python 2
登录走的是公司的 SSO
我们定了，前端框架用 Svelte => Svelte
方案定下来了：消息用 Kafka，不用 RabbitMQ => Kafka
不再维护 v1 接口了
用 pytest 写测试，不要用 unittest => pytest & unittest
不要 push 到 main 分支，走 PR => 不要 push 到 main & PR
我们的 monorepo 用 turbo 管理
merge 之前一定要跑 CI
code review 的意见用中文写
方法不要写太长
能用标准库就用标准库
写代码的时候多加点注释
改之前先跟我说一声
测试数据不要用真实用户信息
别老是改我的格式
以后 commit 信息里带上任务号
数据库字段一律用下划线命名
不许直接在主分支上开发
新代码必须有测试覆盖
我看不懂英文，解释用中文 => 解释用中文
帮我修一下分页。以后这种小改动不用写总结。 => 不用写总结
发布流程是：先打 tag，再等 CI 跑完，最后手动点部署
本地启动用 docker compose up
加完依赖要更新 lock 文件
后台管理系统用的是 Ant Design
我们只支持 Chrome
日志都收集到 ELK 里
数据每天凌晨同步一次
这个服务依赖 Consul
线上有三台机器
ORM 我们选 Prisma
不要动配置文件里的密钥
代码风格跟现有的保持一致
回复的时候先说结论
我不要大段的解释
每个 PR 只解决一个问题
尽量用函数式的写法
加个空值判断。另外，能不加依赖就不加依赖。 => 不加依赖
提交之前跑一遍单测
改配置要重启服务才生效
老系统是 PHP 写的
支付走的是微信和支付宝
我们的用户主要在东南亚
每个微服务有自己的数据库
以后不用 Vuex 了，改用 Pinia => Vuex & Pinia
"""

PASSING = """
fix the login bug
use the existing helper in utils.py
change the default port to 9090
add a button that always stays visible
the server should always answer within 200 ms, find out why it doesn't
don't worry about the tests for now
Can you always reproduce this crash?
why does the cache never expire?
Add a `/health` endpoint that returns 200
no need to fix the lint errors right now
run the tests
write a script that renames all files in the folder to lowercase
Create a new React component for the user card. It should show the avatar and never overflow.
what's the difference between our staging and prod config?
the build is failing on main, take a look
remove the unused imports in api.py
move the parser into its own module and keep the public API the same
I get a 500 when I post to /orders
the test for the cart is red since yesterday
explain how the auth flow works in this repo
can you use a dict instead of a list here?
make the header sticky
The user is always redirected to /login even when the session is valid
whenever I click save twice, two orders are created
skip the migration for now, just do the model
for this PR only touch the backend
yes, do that
looks good, thanks!
try again without the cache
revert that last change
implement rate limiting: each client may send at most 100 requests per minute, all other requests get 429
The form must validate the email and every field is required
let's try a different approach here
I think the bug is in the date parsing
it's in src/parser.py, line 40
the error is a KeyError in load_config
we need a new table for invoices with id, amount and due_date
please add logging to the payment worker
update the README with the new install steps
is it true that we always run migrations before deploy?
what branch do we deploy from?
I want the page to load faster
use a binary search in find_index
don't change the signature of this function
also handle the case when the list is empty
The worker crashes when the queue is empty. It uses too much memory as well.
bump lodash to 4.17.21
our tests are failing with a timeout in CI, can you check?
write a unit test for parse_date
translate the error messages in errors.ts to German
Each row should show the name and each name links to the profile
"never use eval" is what the linter says, how do I silence it here?
修复登录页面的 bug
把默认端口改成 9090
帮我写一个脚本，把所有图片压缩一下
为什么每次启动都报错？
先别管测试，把功能写完
这个接口返回 500，帮我看看
加一个按钮，点击后跳转到首页
用户每次登录都要记录日志，帮我实现一下
列表页要支持分页，每页 20 条
这段代码是什么意思
继续
把 utils.js 里没用的函数删掉
测试没通过，再看看
数据库连接超时了
页面上的时间显示不对，差了 8 个小时
给订单表加一个 status 字段
用递归实现一下
这里不要用递归，改成循环
你觉得用 Redis 还是 Memcached 好？
跑一下测试
帮我 review 一下这个 PR
把 README 翻译成英文
build 失败了，log 里说找不到 module
find out why the importer is slow
why don't we use redis here?
Make all buttons blue
Sort the list by date, newest first
The API returns a list. Every item has an id and a name. Parse it into a dataclass.
add an option to never ask again
don't do it yet, just tell me your plan
this time leave the tests alone
ok now delete it
The email should be sent whenever an order is shipped
Build a CLI that always prints json
Could you look at the failing job?
there's a typo in the config
in the settings page, use tabs for the sections
it never worked on my machine
every time I run make the cache is rebuilt, fix that
Before I start the server it prints a warning, what is that?
I don't understand this function
we have a bug in the checkout
the login page is broken
The response time is 900 ms. That's too slow.
our users complain that the search is slow
I need a regex for phone numbers
put the new class in models.py
the new field should be optional and default to null
use Postgres for this experiment
wait, stop
Only return active users from this query
set the timeout to 30 seconds
add a rule to eslint that forbids default exports
document the config options in docs/config.md
does the project use tabs or spaces?
compare uv and poetry, which one should we use?
I tried with node 18 and it works, node 20 fails
the file is in /tmp/out.json, check what's wrong with it
The test expects 3 but gets 4
split this function into two
make sure the tests pass before you finish
don't forget to handle null
commit this with the message "fix: login"
push it and open a PR
Write a blog post explaining why you should never store passwords in plain text
Design a schema for a shop. Customers have orders, orders have items, items have prices in cents.
it should be possible to cancel an order at any time
all tests fail after the upgrade
I'm getting "permission denied" when I run the script
I'm trying to set up the dev environment
continue with the second step
the config is wrong, fix it
our CI is red because of the flaky test, rerun it
show me where the config is loaded
the last commit broke the docs build
Is there a way to always keep the panel open?
帮我看看这个函数有没有问题
把按钮统一改成蓝色
新增一个接口，返回所有用户
每次刷新页面数据都会丢，查一下原因
要不要改用 TypeScript？
这次先不写测试了
现在的版本是多少
用户名不能为空，密码至少 8 位，帮我加上校验
请优化一下这个 SQL
删除订单前弹窗确认一下，加个这个功能
编译不过，提示缺少分号
我想做一个记账的小程序
接口太慢了，要 3 秒才返回
你刚才改的不对，撤回
配置文件在哪里？
生成一份周报
把这个类拆成两个
文件上传以后要自动生成缩略图，实现这个
好的，就这样
帮我解释一下为什么不能用 any
把 fetch 换成 axios
这个 test 一直 fail，看一下
给 UserService 加个 cache
add a retry to the upload and make it configurable
I'd like a script that backs up the database every night
the sidebar is hidden behind the header
please write the migration for the users table
we want to let users upload avatars
I need you to look at the auth bug
You should add a check for empty input
use the second approach you proposed
keep the old behaviour when the flag is off
return early if the list is empty
don't return None there, raise
don't include the password in the response
when the API returns 429 we should wait and retry
Before rendering, sort the items by price
if the request fails, show a toast
run the linter and fix what it finds
the tests are in the wrong folder, move them
this is the third time the deploy fails
The logs are full of warnings
let's add pagination
we should cache this
let's use a queue between the two services
Build me a todo app. Tasks are stored in SQLite. Each task has a title and a due date. Use Flask.
I want an endpoint /stats. It must return JSON with the number of users. Always include a timestamp.
Write a Dockerfile for the service. The service listens on port 8080. Use a slim base image.
The function takes a list and returns the median. It never mutates its input. Implement it.
in the new version the colors are off
my branch is behind main, rebase it
I have a question about the config
we're seeing timeouts on the payment page
I was thinking about using Kafka
use bold for the headings in the report
put a link to the docs in the footer
move all tests to a tests folder
rename all variables to snake_case in utils.py
make all endpoints async
the commit message should mention the ticket
what's our policy on force pushes?
remember the bug we had last week? it's back
show me all usages of parse_config
only the admin should see this button
name the file report.csv
the title should be bold
no, I meant the other function
no, that's not what I asked for
I don't want to break the API with this change
I don't think the cache is the problem
all good, thank you
tests pass locally but not on CI
the staging server is down
production is slow since the last deploy
the database has too many connections open
our deploy script fails with exit code 1
we use the same code twice, extract it
I use this function a lot, make it faster
it uses port 3000, is that taken?
I'm working on the checkout page
I'm in the middle of a rebase and there are conflicts
we have 3 failing tests
给这个函数写一下单测
登录以后跳到首页
订单金额要保留两位小数，现在显示错了
我们来重构一下这个模块
我们需要一个定时任务，每天统计销售额
这个接口要支持分页
搜索结果按时间排序
数据库里有重复数据，清理一下
不是这个文件，是另一个
如果接口失败就重试三次
测试环境挂了
我用的是这个命令，但是没反应
首页要改成响应式的
做一个后台管理系统，用户可以登录，管理员可以删除用户
代码里有个拼写错误
前端调接口跨域了
服务启动不了，端口被占用
这个项目是做什么的？
项目跑不起来
我们的测试为什么这么慢
The function should accept a list of ints. It should return the two largest. Don't sort the whole list.
create a landing page. The hero has a big title and a CTA. Use Tailwind. Keep it simple.
the previous agent left a mess in src/api, clean it up
when I run npm start I get EADDRINUSE
make it work on Windows too
good, now do the same for the orders table
the diff is too big, split it into two commits
I updated the config, the endpoint is now https://foo.test/v2, try again
use the API key from .env for this call
let's not do that now
it should use the same logger as the other modules
change all prints to logging in scripts/
is there any reason we don't use async here?
the spinner never goes away
we want the tooltip to appear after 300 ms
the admin can delete users, but users can't delete themselves
a user has many orders and an order belongs to one user
Add validation: name is required, age must be over 18
write tests for the parser, cover empty input and unicode
You forgot to update the changelog
please remove the comments you added
why are there two config files?
please only change the CSS
print the result as JSON
I'd rather have it in a separate file
read the issue and propose a fix
The query takes 20 seconds on a table with 1M rows, add an index
there are three failing tests in test_api.py
there is a race in the worker
my test fails because the fixture is missing
the package doesn't build on arm64
帮我把这三个文件合并成一个
这个函数要返回一个列表
写个爬虫抓取新闻标题
点击保存后弹出提示
我改了配置，你再跑一下
你漏了一个文件
把测试覆盖率提到 80%
数据库的连接数满了
接口文档和实现不一致，更新一下
是不是应该用缓存？
优惠券每人限领一张，过期不能用，实现领券功能
项目启动后内存一直涨
"""


def lines(block: str) -> list[str]:
    """The prompts of a block."""
    return [line for line in block.strip().splitlines() if line]
