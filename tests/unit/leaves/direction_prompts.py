"""Invented prompts as people type them to coding agents: those that lay something down, and those that do not.

One prompt a line. In the first two, words after `` => `` must stand in one direction; ``&`` joins several such words.

``AT_LENGTH`` holds prompts of several sentences, as ten kinds of people write them, with a blank line between them. A
line ``=> words`` below a prompt is to be found in one direction; ``+> words`` may be found or not. Without such lines
nothing is. Two spaces go on with a long line. They were written before the patterns that find them, and what is
still missed stays in them.
"""

from __future__ import annotations

from msgspec import Struct

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
replace the regex with a parser, and not npm after all, pnpm => not npm after all, pnpm
do not push until I looked - this has been moved over to invoke => this has been moved over to invoke
for now just use the default - no more pipenv, we went for conda => no more pipenv, we went for conda
fix the parser, but not npm any more, pnpm => not npm any more, pnpm
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

AT_LENGTH = r"""
mv auth out of legacy/. then typecheck. legacy/ itself: frozen, hands off.
=> legacy/ itself: frozen, hands off

perf pass on the parser pls. No unsafe blocks, ever.
=> No unsafe blocks, ever

rebase onto develop (never main, main is what customers get)
=> never main

done? good. next time run clippy before telling me it's done
=> run clippy before telling me it's done

squash only. no merge commits here.
=> squash only
=> no merge commits here

Errors: thiserror in libs, anyhow in bins.
=> thiserror in libs, anyhow in bins

stop adding `unwrap()`. expect with a message or propagate.
=> stop adding `unwrap()`
+> expect with a message or propagate

Public API is frozen till 2.0. Anything breaking goes behind a feature flag.
=> Public API is frozen till 2.0
=> Anything breaking goes behind a feature flag

bump tokio to 1.40. MSRV stays 1.74 though.
=> MSRV stays 1.74

hey so I was looking at the signup form and I think the validation is kinda off?? can you have a look. oh and
  my lead told me we aren't supposed to use lodash anymore so please avoid it :)
=> we aren't supposed to use lodash anymore

omg thanks that worked!! btw could you always explain what the command does before you run it? I'm still
  learning git and it scares me lol
=> always explain what the command does before you run it

sooo I accidentally pushed the .env again... can you remove it from history? and from now on please double
  check there's no secrets in what I stage
=> double check there's no secrets in what I stage

I'm pretty new to React (coming from Vue), so when you use a hook I probably haven't seen, tell me what it's
  for. ok so the task: the cart badge doesn't update
=> when you use a hook I probably haven't seen, tell me what it's for
+> I'm pretty new to React

wait no, we use pnpm here! npm messes up the lockfile. redo that please
=> we use pnpm here
+> npm messes up the lockfile

haha ok, that's nice but way too much text, I really just want the diff and one line on why, like every time
=> I really just want the diff and one line on why

Retrain the churn model with the September extract. Random seeds are 42 everywhere in this repo so results can
  be compared.
=> Random seeds are 42 everywhere in this repo

In notebooks I only keep exploration; anything reusable belongs in src/features. Move the encoder there, would you?
=> anything reusable belongs in src/features
+> In notebooks I only keep exploration

plot looks fine. For figures I want viridis, no titles inside the image, and axis units in brackets.
=> For figures I want viridis, no titles inside the image, and axis units in brackets

We report PR-AUC, not accuracy, since the classes are 1:200. Add it to eval.py.
=> We report PR-AUC, not accuracy

The raw dumps under /mnt/lake/raw are read only by agreement with the hospital, so any cleaning has to write
  to /mnt/lake/staged.
=> The raw dumps under /mnt/lake/raw are read only
+> any cleaning has to write to /mnt/lake/staged

use polars for the join, pandas blows up past 20 GB on our boxes
+> use polars for the join
+> pandas blows up past 20 GB on our boxes

You leaked the target into the features again. Splits happen by customer_id, never by row.
=> Splits happen by customer_id, never by row

pager went off twice tonight, look at the attached log. Remember prod kubectl is off limits for you, read from
  the staging context only.
=> prod kubectl is off limits for you
+> read from the staging context only

Write the terraform for the new bucket. Every resource carries owner and cost_center tags or the policy bot
  rejects the plan.
=> Every resource carries owner and cost_center tags

Our nodes are arm64, so images without an arm64 manifest can't be used.
=> Our nodes are arm64

rollback = `./ops/rollback.sh <service> <sha>`, nothing else. Someone reverted by hand last week and it hurt.
=> rollback = `./ops/rollback.sh <service> <sha>`, nothing else

alerts get a runbook link. no runbook, no alert.
=> alerts get a runbook link
+> no runbook, no alert

Change freeze every Friday from noon. Today is Thursday so go ahead with the migration.
=> Change freeze every Friday from noon

Latencies in our dashboards are p99, in milliseconds.
=> Latencies in our dashboards are p99, in milliseconds

Helm values: secrets come from vault via external-secrets; nothing sensitive in values.yaml.
=> secrets come from vault via external-secrets
+> nothing sensitive in values.yaml

帮我把 order service 的 retry 逻辑改一下，另外 commit message 统一用 conventional commits 格式
=> commit message 统一用 conventional commits 格式

这个 PR 先别合。以后 review comment 都用英文写，老外也要看
=> 以后 review comment 都用英文写

mock 数据放 __fixtures__ 下面，别散在 test 文件里
=> mock 数据放 __fixtures__ 下面，别散在 test 文件里

又用了 any！我们的 tsconfig 是 strict，any 一律不许出现
=> any 一律不许出现
+> 我们的 tsconfig 是 strict

我本地是 M1，docker 镜像得 build 成 linux/amd64 才能上测试环境
=> docker 镜像得 build 成 linux/amd64
+> 我本地是 M1

跑测试用 make test-unit 就行，集成测试要连内网，你这边跑不了
=> 跑测试用 make test-unit
+> 集成测试要连内网

说话简短点，别每次都给我总结一大段
=> 别每次都给我总结一大段
+> 说话简短点

各位注意以下规范：
1. 接口返回统一包装为 Result 对象；
2. 禁止在循环中查询数据库；
3. 日志不得打印用户手机号。
=> 接口返回统一包装为 Result 对象
=> 禁止在循环中查询数据库
=> 日志不得打印用户手机号

本项目采用 DDD 分层，domain 层不依赖任何框架。请据此调整订单模块。
=> 本项目采用 DDD 分层
+> domain 层不依赖任何框架

数据库变更必须走工单，严禁直接连生产库执行 SQL。
=> 数据库变更必须走工单
+> 严禁直接连生产库执行 SQL

上线窗口为每周二、周四晚十点之后，其余时间一律不发版。
=> 上线窗口为每周二、周四晚十点之后
+> 其余时间一律不发版

因为甲方机房只有 JDK 8，语法不能超过 8。把这几个 record 改成普通类。
=> 语法不能超过 8

nice, the card looks good. Spacing is always a multiple of 4, so 14px should have been 12 or 16.
=> Spacing is always a multiple of 4

No drop shadows in this product, we use borders. Also the hover colour is missing on the ghost button.
=> No drop shadows in this product, we use borders

Colours come from tokens.css; if you type a hex value in a component you did something wrong.
=> Colours come from tokens.css

icons: Phosphor, regular weight, 20px
=> icons: Phosphor, regular weight, 20px

The tone of our microcopy is calm and direct. We say "you", never "the user". Rewrite the three empty states.
=> The tone of our microcopy is calm and direct
=> We say "you", never "the user"

Please to fix the export. And I ask you for always keep the backward compatible of the CSV columns, our
  partner read it by position.
=> always keep the backward compatible of the CSV columns

In our team is not allowed to use the console.log, we has own logger in lib/log.
=> is not allowed to use the console.log
+> we has own logger in lib/log

you change to much file. I prefer only the necesary change, small, one by one
=> I prefer only the necesary change

the databse is in server 2, name of it "ventas_prod", only read user we have
+> the databse is in server 2
+> only read user we have

dont write comment in spanish anymore, the new colleagues not understand. english only
=> dont write comment in spanish anymore
+> english only

okay so what I'd like you to do is go through the importer and see why it chokes on the big file and while
  you're there keep in mind that whatever you do in the importer has to stay streaming because the boxes it
  runs on only have like five hundred twelve megs of memory
=> whatever you do in the importer has to stay streaming
+> the boxes it runs on only have

so basically the way I like to work is you tell me what you found first and then we talk about it and only
  then do you touch the code, alright, so with that said have a look at the scheduler
=> you tell me what you found first
+> only then do you touch the code

um yeah that's good and uh for the future whenever we add a new tenant somebody has to also run the seed
  tenant script or the reports come up empty
=> whenever we add a new tenant somebody has to also run the seed tenant script

Good progress. For the weekly update, please write for non-engineers: no file names, at most five bullets. I
  need this every Monday.
=> please write for non-engineers: no file names, at most five bullets

We've agreed with legal that no customer names appear in test data. Please clean fixtures/customers.json accordingly.
=> no customer names appear in test data

The budget for third-party services is zero this year, so open source or nothing.
=> open source or nothing
+> The budget for third-party services is zero this year

I've told the client we drop IE11 support as of v5. Remove the polyfills.
=> we drop IE11 support as of v5

Estimates in half days, please, whenever I ask you for one. How long would the CSV export take?
=> Estimates in half days, please, whenever I ask you for one

Not like that. Migrations are append-only, you never edit one that was merged. Write a new one.
=> Migrations are append-only
+> you never edit one that was merged

split handler.rs into three. keep the public names.

bisect since v0.9.1, tell me the sha.

panic at startup:
thread 'main' panicked at 'called `Option::unwrap()` on a `None` value', src/cfg.rs:88
cfg never falls back to the default. why

is clippy::pedantic worth it for a crate this size? opinions only, no code.

hey! so the button doesn't do anything when I click it, I always have to refresh first. any idea??

lol my bad, wrong branch. go back to the other one please

ok so I followed the tutorial, it says "You should always wrap your app in StrictMode" but then everything
  renders twice, is that normal?

could you make the tests a bit less flaky? the one called "never double charges" fails like half of the time

For this experiment drop rows with missing age, then fit a logistic regression with C=0.1 and report the
  confusion matrix.

The model always predicts class 0 after epoch 3. Loss goes to nan. Check the learning rate schedule.

why do we standardise before PCA? explain it to me like I have to present it tomorrow

load the parquet, group by week, plot the mean with a 95% band, y axis from 0

Disk on db-3 filled up at 04:10, postgres went read only. Find which table grew and propose a fix, don't apply it.

leave the pods running for now, I'm still debugging

from the postmortem doc:
> All services must expose /healthz. Never deploy without a canary.
Which of our services don't do that yet?

kubectl get events shows "Back-off restarting failed container" every 30 seconds, what does it want from me

scale checkout to 6 replicas until the sale is over

把这个接口的超时改成 5 秒，重新部署一下 test 环境

为什么 CI 里每次都要重新装依赖？本地就不会

这个 bug 只在 safari 上出现，chrome 没问题，你看看是不是 flex 的兼容性

刚才那个方案不行，换成轮询吧，先试试

需求：会员等级分为普通、银卡、金卡；金卡会员购物必须享受 9 折；积分不得为负。请完成该模块。

请检查附件中的代码是否符合“所有方法必须有注释”这一条

注册流程里验证码必须在 5 分钟内有效，过期后提示重新获取

Make the modal 480 wide, 24 padding, close button top right. On mobile it fills the screen.

can the illustration move a little slower? also the heading always wraps onto two lines on my iPad

I'd like three variants of the pricing page to show the client this afternoon

the user should never see an empty list, show a placeholder with a drawing

I am having problem, when I do the login it give me always error 403, but the token is good. what can be?

please to translate this file in portuguese, the keys not touch, only the values

so can you open the file with the routes and then find the one for invoices and then rename it to billing and
  then make sure nothing else is still pointing at the old one and then run the tests and tell me how it went

I was wondering whether it'd make sense to always cache that response or whether that's going to bite us, what
  do you think

What's the status of the migration? Anything that blocks us for Wednesday?

Summarise the last ten commits for the client in plain words, no more than half a page.

The customer says the report never arrives on Mondays. Please investigate before the call at three.

Please draft a policy that says employees must not share passwords and must always lock their screens.

here's what the linter said:
error: imports must be sorted (always put stdlib first)
fix it

undo the last change, I liked the first one more

The parser must accept both tabs and spaces, must never crash on empty input, and has to return positions.
  Write it with tests.

leave test_legacy.py out of this run, it takes forever

port the cron to systemd timers. user units, not system - same as all our other boxes.
+> user units, not system

C++20, no exceptions, no RTTI. that's the whole codebase. now fix the ring buffer.
=> C++20, no exceptions, no RTTI

reads hot path? benchmark before and after, numbers in the PR. applies to every perf change.
=> benchmark before and after, numbers in the PR

third_party is generated by the vendor script. edits there get lost.
=> third_party is generated by the vendor script
+> edits there get lost

warnings are errors with us. so fix the two new ones

nit: early returns over nested ifs.
=> early returns over nested ifs

ship it. tag format is YYYY.MM.patch.
=> tag format is YYYY.MM.patch

why did you touch Cargo.lock? leave that to renovate. revert.
=> leave that to renovate

the fuzz targets live in a separate workspace (nightly only), so cargo test at the root won't see them
=> the fuzz targets live in a separate workspace

Comments explain why, not what. You've written three that just repeat the code, drop those.
=> Comments explain why, not what

hiii can you help me set up the tests? I think my mentor said we're on vitest and not jest, so vitest please
=> we're on vitest and not jest

thank youuu that was super helpful. Also small thing, my name is Mira and my pronouns are she/her, the PR text
  said "he" haha
+> my pronouns are she/her

ahh I keep getting confused by the abbreviations, can you spell things out in variable names? like always
=> spell things out in variable names

I'd feel better if you never ran anything with sudo on this laptop, it's a company one. anyway, why does brew complain?
=> never ran anything with sudo on this laptop

so apparently everyone here puts the ticket number in front of the commit message, like "SHOP-12: ...", I
  didn't know. can you amend mine?
=> everyone here puts the ticket number in front of the commit message

can you make the login work with google? just so you know, the auth stuff is done by a company called Kernwerk
  and we can't change their package
=> we can't change their package
+> the auth stuff is done by a company called Kernwerk

hmm that's the second time you've used class components. Function components please, class components are
  banned in our style guide
=> class components are banned in our style guide
+> Function components please

The label column is `outcome_v2`; `outcome` is the old definition and nobody should train on it any more.
=> `outcome` is the old definition and nobody should train on it
+> The label column is `outcome_v2`

rerun the ablation w/o the text features. fyi our gpu quota is 2 cards, don't launch more than that at once
=> don't launch more than that at once
+> our gpu quota is 2 cards

Every experiment gets logged in MLflow under the team namespace, otherwise it doesn't exist for us. Start with
  the baseline.
=> Every experiment gets logged in MLflow

I distrust point estimates. Give intervals.
=> Give intervals
+> I distrust point estimates

The timestamps in this warehouse are Lisbon local time, not UTC (historical mess), convert when joining with
  the web logs.
=> The timestamps in this warehouse are Lisbon local time
+> convert when joining with the web logs

SQL style: CTEs rather than subqueries, one column per line, trailing commas no.
=> CTEs rather than subqueries

That split leaks. With time series we only ever validate on the future.
=> With time series we only ever validate on the future

Convert the notebook to a script. Config goes in hydra yaml and not argparse, that's how all the other jobs do it.
=> Config goes in hydra yaml and not argparse

Look into why the canary fails. Context: eu-west is primary, us-east only holds replicas.
=> eu-west is primary
+> us-east only holds replicas

no `latest` tags in manifests. pin digests.
=> no `latest` tags in manifests
+> pin digests

On-call is me this week but in general anything that wakes people up should first go through Tomas.
=> anything that wakes people up should first go through Tomas

Postgres upgrades: replica first, failover, then the old primary. We never do it in place.
=> We never do it in place
+> replica first, failover, then the old primary

you ran terraform apply without showing me the plan!! plan, wait for my ok, apply. In that order.
=> plan, wait for my ok, apply

Grafana dashboards are code (jsonnet under mon/), clicking them together gets you nowhere because they are
  overwritten nightly.
=> Grafana dashboards are code
+> they are overwritten nightly

the bastion only accepts ed25519 keys, rsa is refused
=> the bastion only accepts ed25519 keys

Bash scripts start with set -euo pipefail and pass shellcheck. Fix backup.sh accordingly.
=> Bash scripts start with set -euo pipefail

retention: logs 14 days, metrics 13 months. change nothing there without asking finance
=> logs 14 days, metrics 13 months
+> change nothing there without asking finance

deploy 走 ArgoCD，不要 kubectl apply，上次就是手动改的结果被覆盖了
=> 不要 kubectl apply
+> deploy 走 ArgoCD

我比较喜欢 early return，嵌套太深我看着累。顺便把这个 handler 拆一下
=> 我比较喜欢 early return

写 SQL 别用 select *，DBA 会打回来
=> 写 SQL 别用 select *

这边的 node 版本锁死在 18（公司镜像只有这个），别给我装 20
=> node 版本锁死在 18
+> 别给我装 20

组件命名用 PascalCase，hooks 以 use 开头，其他文件 kebab-case
=> 组件命名用 PascalCase

你改完记得跑一遍 lint，每次都是我来补
=> 改完记得跑一遍 lint

看下这个 flaky test。以及：timezone 相关的断言统统用 UTC
=> timezone 相关的断言统统用 UTC

不对不对，staging 的 config 在 apollo 里，不在 repo 里，找 apollo
=> staging 的 config 在 apollo 里

一、代码提交前须通过本地静态检查。
二、单个方法不宜超过 80 行。
三、新增依赖须经架构组审批。
=> 代码提交前须通过本地静态检查
=> 单个方法不宜超过 80 行
=> 新增依赖须经架构组审批

请完成对账模块的开发。注意：金额字段一律使用 BigDecimal，不允许使用 double。
=> 金额字段一律使用 BigDecimal

我们组的约定是谁改接口谁更新文档，你也一样。
=> 谁改接口谁更新文档

由于等保要求，所有密码类字段落库前均需加密（SM4）。
=> 所有密码类字段落库前均需加密

前端由外包团队负责，你只动 server 目录下的代码。现在先看登录接口。
=> 你只动 server 目录下的代码
+> 前端由外包团队负责

回复请使用中文，术语可保留英文。下面开始第一个任务：梳理支付流程。
=> 回复请使用中文

Could you align the header with the grid? It's a 12 column grid with 24px gutters, all pages share it.
=> It's a 12 column grid with 24px gutters

I care a lot about motion: nothing longer than 200ms, ease-out, and respect prefers-reduced-motion.
=> nothing longer than 200ms, ease-out, and respect prefers-reduced-motion

Buttons read as verbs. "Save", not "OK".
=> Buttons read as verbs

Dark mode first! the light theme is derived. You did it the wrong way round again
=> Dark mode first
+> the light theme is derived

We only support two breakpoints, 768 and 1200. please drop the 992 one from the nav
=> We only support two breakpoints, 768 and 1200

Please use sentence case for headings. Title Case looks shouty to me.
=> Please use sentence case for headings

The word "dashboard" is forbidden in our product, customers call it "overview".
=> The word "dashboard" is forbidden in our product

Hello, I am working since two weeks in this project. Is better for me if you write the explications in simple
  english, please, my level is B1.
=> write the explications in simple english

it exist already a function for the date, in src/fechas.ts, you must to use always this and not make new
=> you must to use always this and not make new
+> it exist already a function for the date, in src/fechas.ts

Sorry but in this company we dont do deploy by hand, is forbiden, only with the pipeline from gitlab
=> we dont do deploy by hand
+> only with the pipeline from gitlab

Fix please the calculus of the taxes. The rounding we do it always at the end, not per line.
=> The rounding we do it always at the end, not per line

the enviroment of test is http://test.interno:8081, user is not necesary
=> the enviroment of test is http://test.interno:8081

I told you before yesterday already: not use tabs! Two espaces.
=> not use tabs
+> Two espaces

alright let me think about this out loud um the invoices service is owned by the other team so we don't change
  anything in there we just call it and if something's missing we ask them so please do the totals on our side
=> we don't change anything in there
+> the invoices service is owned by the other team

before I forget and this goes for everything not just today I want you to stop at the first failing test and
  show it to me instead of going on and fixing five things at once okay now run them
=> stop at the first failing test and show it to me

right so what happened last time is that you deleted the old endpoint and two mobile versions broke so the
  rule going forward is that an endpoint has to be marked deprecated for at least two releases before it goes
=> an endpoint has to be marked deprecated for at least two releases

one more thing I hate long functions so if something gets over like forty lines split it up you don't have to
  ask me about that
=> if something gets over like forty lines split it up

Please keep me out of implementation details unless a decision needs me. Where do we stand with the import?
=> keep me out of implementation details unless a decision needs me

Dates in anything that goes to customers: 14 March 2025, written out.
=> Dates in anything that goes to customers: 14 March 2025, written out

Security signed off on OAuth only, so basic auth isn't an option for any new integration.
=> basic auth isn't an option for any new integration
+> Security signed off on OAuth only

Per our contract the source code can't leave the EU, which means no US-hosted tools.
=> the source code can't leave the EU
+> no US-hosted tools

Thanks. Next time, start with the risk and then the plan. Now please list what's left for the beta.
=> start with the risk and then the plan

I want two approvals on everything that touches billing, mine being one of them.
=> two approvals on everything that touches billing

strip debug symbols from the release profile. check size before/after.

segfault in ring_push, asan log in /tmp/asan.txt. go.

what happens if two writers hit commit() at once? don't fix, just answer

inline this. no, the other one. yes that.

revert 3f9c2aa, keep the test though

heyy do you know why my page is blank? the console says "Objects are not valid as a React child" and I never
  pass objects I swear

can you explain what a closure is with an example from our code? pls keep it short, I have a meeting in 5

ugh I broke it again. put everything back how it was this morning please

could you add a dark mode toggle to the navbar? it should remember the choice and always start in light mode
  for new visitors

Try XGBoost with depth 4 and 6, early stopping at 50 rounds, and tell me which one generalises better.

The validation loss is always lower than the training loss. Is dropout the reason or do I have a bug?

I computed the mean by hand and got 3.41, the pipeline says 3.14. One of us is wrong.

how many rows have a null customer_id? group by country please

cpu on node-7 is pinned since the deploy at 14:20. profile it, 30s, flamegraph to /tmp

the runbook says "never restart the broker during a rebalance" but it's stuck since an hour, what are my options?

restart nginx on web-2 only, web-1 is draining

write a script that checks all certs and warns 30 days before expiry. it must not need root and must always
  exit 0 unless a cert is expired

用 python 写一个脚本统计每个 author 的 commit 数量，输出 csv

为什么 useEffect 会执行两次？是不是 strict mode 的问题

这次先不加缓存，把功能跑通再说

线上报警了：order-service 每隔 10 秒就超时一次，所有请求都失败，赶紧看看

用户下单后必须在 30 分钟内支付，超时自动取消订单并恢复库存。请实现该功能并补充单测。

请对比方案 A 和方案 B 的优缺点，不用写代码

把文档里“禁止”改成“不建议”，语气缓和一些

Try the hero with a photo instead of the illustration and make the headline bigger, maybe 56.

the tooltip is cut off at the right edge of the screen whenever the sidebar is open

Can we see what it looks like if all the corners are square? just curious

In the onboarding flow, step two should only show when the user has no team yet.

I no understand why the test not pass, in my computer pass always

please make one button for the delete, and before the delete it must ask always to the user if is sure

okay um go to the settings file and change the timeout to thirty and then no wait make it sixty and then start
  the server again and see if it still drops the connection

so I've been reading about event sourcing and people say you should never update rows and always append and
  I'm wondering is that something that'd help us or is it overkill

Give me a one page overview of what the billing service does. The audience is our new CFO.

When will the search be ready, and what would you cut if it had to be Friday?

The auditors asked: "Do you always encrypt backups?" Please find out and draft an answer.

Here is what their support wrote back:
"Please always include the X-Client header and never send more than 10 requests per second."
Does our client do this?

Add an onboarding checklist to the wiki: every new developer gets a laptop, a mentor and access to the repos.

the feature flag is on for 5% of users at the moment, turn it to 20

It used to work with the old SDK, now every call needs a token, what changed?

drop the ORM from reports/. raw sql there, ORM elsewhere. that's the line.
=> raw sql there, ORM elsewhere

go 1.21 is the floor. generics ok, range-over-func not.
=> go 1.21 is the floor
+> generics ok, range-over-func not

ctx first arg. always. you missed two.
=> ctx first arg

fewer mocks. fakes in internal/fake, use those.
=> fakes in internal/fake
+> fewer mocks

table tests, t.Parallel, no testify. rewrite store_test.go that way
=> table tests, t.Parallel, no testify

the pb files are checked in on purpose. regenerate with buf, not protoc.
=> regenerate with buf, not protoc
+> the pb files are checked in on purpose

log once at the edge. wrapping in the middle is fine, logging isn't.
=> log once at the edge

PRs over 400 lines get bounced here. split it.
=> PRs over 400 lines get bounced here

hmm. no. we vendor deps, `go mod vendor` after each change or the offline build dies.
=> we vendor deps
+> `go mod vendor` after each change

lint passes? then push. (gofumpt, not gofmt, in case you wonder about the diffs)
=> gofumpt, not gofmt

heya, quick q, can you add a spinner? oh and don't use any npm packages for stuff like that, my team lead
  wants to keep the bundle tiny
=> don't use any npm packages for stuff like that

yay it works!! could you maybe from now on leave little comments where you changed something? makes it way
  easier for me to follow
=> leave little comments where you changed something

so I asked around and turns out the api keys come from 1Password, not from .env files, so let's do it that way
  everywhere
=> the api keys come from 1Password, not from .env files

sorry for being annoying but I get lost when you change ten files at the same time, smaller steps would be awesome
=> smaller steps would be awesome
+> I get lost when you change ten files

ohh ok I see what happened, you made a branch off main but our default branch is called trunk. can you redo it?
=> our default branch is called trunk

just a heads up that I'm on Windows with WSL so paths with backslashes won't work. can you give me the command again?
=> I'm on Windows with WSL

is it ok if you ask before you install stuff? my disk is nearly full lol. anyway pls look at the failing snapshot
=> ask before you install stuff

Features are computed as of the event date, using anything later is cheating. Check session_gap for that.
=> Features are computed as of the event date

Don't round in intermediate tables. Rounding happens at display time.
=> Don't round in intermediate tables
=> Rounding happens at display time

The holdout set (data/holdout) is off limits until the paper is submitted, so tune on the dev split.
=> The holdout set (data/holdout) is off limits

Bootstrap the metric, 1000 resamples. I need confidence intervals next to any number I'm going to present.
=> I need confidence intervals next to any number I'm going to present

You're plotting with seaborn defaults again; the lab has a style file, lab.mplstyle, load that.
=> the lab has a style file, lab.mplstyle

duckdb for anything local, spark only once it doesn't fit on one machine. so rewrite this job in duckdb
=> duckdb for anything local, spark only once it doesn't fit on one machine

user_id in the events table is hashed, it can't be joined with the CRM. Find another key.
=> user_id in the events table is hashed

Type hints in library code, not in notebooks.
=> Type hints in library code, not in notebooks

something's off with consumer lag. before you poke around: kafka tools are on the jump host, topics with the
  prefix pii. must not be read.
=> topics with the prefix pii. must not be read
+> kafka tools are on the jump host

Cluster upgrades happen in the second week of the month. Prepare the node pool change.
=> Cluster upgrades happen in the second week of the month

We're single tenant per namespace; cross-namespace traffic is denied by default and it stays that way.
=> cross-namespace traffic is denied by default and it stays that way
+> We're single tenant per namespace

every service needs limits AND requests. admission webhook kills pods without them
=> every service needs limits AND requests

Add the alert. Severity page is reserved for customer impact, everything else is ticket.
=> Severity page is reserved for customer impact, everything else is ticket

docker compose is for laptops, nomad for everything else
=> docker compose is for laptops, nomad for everything else

You hardcoded the region. It comes from the environment, in every module we own.
=> It comes from the environment, in every module we own

no pings to #incidents from automation. use #ops-noise
=> no pings to #incidents from automation
+> use #ops-noise

ssh to prod requires a ticket number in the session comment, mine won't do, ask the lead on duty
=> ssh to prod requires a ticket number in the session comment

分支从 release/* 切，feature 合回 develop，这是我们的 git flow。你先建个分支
=> 分支从 release/* 切

接口 404 了帮我 check 下。另外 log 里别打 token，安全组会扫
=> log 里别打 token

用 pnpm 不用 npm，lock 文件冲突好几次了
=> 用 pnpm 不用 npm

状态管理我们已经定了 zustand，redux 的代码慢慢迁走
=> 状态管理我们已经定了 zustand
+> redux 的代码慢慢迁走

生成的代码在 gen/ 目录，改了也白改，要改去改 proto
=> 要改去改 proto
+> 生成的代码在 gen/ 目录

解释的时候多给点例子，光讲概念我听不懂
=> 解释的时候多给点例子

我说过了 useMemo 别乱加，有性能问题再说
=> useMemo 别乱加

本机 redis 端口是 6380 不是 6379，被占了
=> 本机 redis 端口是 6380 不是 6379

编码要求如下：
- 异常须统一抛出 BizException
- 控制层不编写业务逻辑
- 枚举值入库存 code，不存 name
请按要求修改 UserController。
=> 异常须统一抛出 BizException
=> 控制层不编写业务逻辑
=> 枚举值入库存 code，不存 name

凡涉及资金的操作，务必加幂等校验。本次先处理退款接口。
=> 凡涉及资金的操作，务必加幂等校验

经评审，消息队列选用 RocketMQ，Kafka 不再使用。
=> 消息队列选用 RocketMQ

测试用例由我来补，你不必写。先实现批量导入。
=> 测试用例由我来补，你不必写

交付文档需中英双语，中文在前。
=> 交付文档需中英双语，中文在前

考虑到客户内网无法访问外网，所有静态资源均须本地化，不得引用 CDN。
=> 所有静态资源均须本地化
+> 不得引用 CDN

Nice start! Please stick to the type scale we have (12, 14, 16, 20, 28), 18 isn't on it.
=> stick to the type scale we have

Red is for destructive actions only in our UI, so the badge has to be another colour.
=> Red is for destructive actions only in our UI

I design in Figma at 1440 and hand over specs in rem, base 16. The header should be 4rem.
=> I design in Figma at 1440 and hand over specs in rem

Every image needs an alt text, written by a human. put a placeholder and tell me which ones are missing
=> Every image needs an alt text

too many accents on this screen. one primary button per view, that's our principle
=> one primary button per view

What I don't want is placeholder-only labels, they fail our a11y audits. Fix the address form.
=> What I don't want is placeholder-only labels

Hi, the file is big, I need it split. Please the names of the files always in english and lower case, we had
  problem with the linux server.
=> the names of the files always in english and lower case

Is not possible to use python 3.12 here, the server of the client have 3.9. Change the match please.
=> Is not possible to use python 3.12 here
+> the server of the client have 3.9

When you finish something make the commit yourself but never the push, the push I do it.
=> make the commit yourself but never the push
+> the push I do it

we use the coma for the decimals in the reports, not point. is wrong in the PDF
=> we use the coma for the decimals in the reports, not point

You have put again the logic in the view. The logic go in the services, the view only show.
=> The logic go in the services, the view only show

thx. and please dont answer with tables, in my terminal is broken
=> dont answer with tables

yeah so the thing about this codebase is nobody's allowed to add new tables without the data team so if you
  think you need one come to me first and for this ticket I'm pretty sure you don't so just add a column
=> nobody's allowed to add new tables without the data team
+> if you think you need one come to me first

okay hang on I don't want you opening pull requests by yourself you prepare the branch and I open them that's
  how we'll do it so just push the branch for now
=> I don't want you opening pull requests by yourself
+> you prepare the branch and I open them

and then one thing about the tests um they share one database so you can't run them in parallel or you get
  these weird unique constraint errors so what I'd like now is the failing one fixed
=> they share one database so you can't run them in parallel

I think in general with me it works best if you give me two options and a recommendation rather than a long
  list so for the queue what are the two options
=> give me two options and a recommendation rather than a long list

We present to the board in English but the team reads German, so docs in German and slides in English.
=> docs in German and slides in English

From this sprint on, tickets without acceptance criteria aren't started. Please check the ones assigned to you.
=> tickets without acceptance criteria aren't started

Our customers are hospitals. Downtime during the day is not acceptable, so releases go out after 8 pm.
=> releases go out after 8 pm
+> Downtime during the day is not acceptable
+> Our customers are hospitals

The vendor's SLA is four hours. Keep that in mind whenever you propose something that depends on them.
=> Keep that in mind whenever you propose something
+> The vendor's SLA is four hours

I've decided to go with Stripe after all; Adyen is off the table.
=> I've decided to go with Stripe
+> Adyen is off the table

who calls flush()? list them, nothing else.

kill the goroutine leak in watch(). repro in leak_test.go

make it compile first. style later.

s/Foo/Bar/ in pkg/api, run the tests, stop there

race detector complains at cache.go:91, only under load

does go vet catch that? or do we need a custom analyzer

hii the tutorial I'm following says never mutate state but my teacher does it all the time?? who's right

so I clicked the green button and now it says merge conflict and I'm kinda panicking, what do I do

can you make the text in the footer a tiny bit smaller, and the link should always be underlined on hover

no wait, I meant the other list, the one on the profile page, sorry!!

fit it again without the two outliers and overlay both curves, old one dashed

what's the difference between fit_transform and transform? I always mix them up

the training job died with exit code 137 after 40 minutes, memory graph attached

Predict only for customers that have at least three orders; the others get the median. Save to preds.csv.

the readiness probe fails on every pod since this morning, describe output below, what do you see?

drain node-3, wait till it's empty, then tell me and I'll swap the disk

how do other teams handle secrets rotation? we're thinking about every 90 days

set the replica count to 0 on staging, we don't need it this week

提示 “禁止访问”，明明已经登录了，看下是不是 cookie 的问题

给 table 加一个导出按钮，导出的时候必须带上当前的 filter

这个 hook 每次 render 都会重新创建，怎么避免？

先 mock 一下数据，接口下周才有

请编写接口文档，包括入参、出参、错误码，格式参考 user.md

系统应支持至少 1000 并发用户，响应时间不超过 2 秒，请评估现有架构是否满足

附上客户反馈：“每次导出都要等很久，而且不能取消”。请分析原因

如果库存不足则不允许下单，并提示“库存不足”，请补充该逻辑

Let's try the sidebar on the right for once and see how it feels

every card jumps by a pixel when I hover, feels like the border

What would you call this screen? Overview, Home, Start? We can't decide.

The empty state should use the sleeping cat drawing and say "Nothing here yet", no button.

how I can do for have two languages in the same page? is possible with this library?

it say "permission denied for schema public", but the user have all the permission, I dont understand

can you take the list of countries from the old app and put it in the new one and sort it and take out the
  ones we don't ship to I think there's a constant for that somewhere

hmm I'm not sure I like it, I mean it works but do we really have to load everything every time the page
  opens, isn't there a better way

Please compare our pricing page with these two competitors and give me three ideas.

The minutes say: "All teams must deliver weekly, no exceptions." What does that mean for our backlog?

I have a call with the client in ten minutes, what did we change since Monday?

Prepare a template for incident reports: it must always contain a timeline, impact and owner.

every invoice must have a unique number and invoices must never be deleted, implement that in the billing module

hold off on the deploy, the client wants to look at it once more

min SDK is 26, don't pull in anything that needs 28. bump the gradle plugin.
=> min SDK is 26
+> don't pull in anything that needs 28

Compose only for new screens; XML layouts we just keep alive. Add the settings screen.
=> Compose only for new screens
+> XML layouts we just keep alive

strings go through Lokalise, nobody edits strings.xml by hand
=> strings go through Lokalise, nobody edits strings.xml by hand

You committed the keystore. Signing material stays on the build server.
=> Signing material stays on the build server

the iOS team mirrors our analytics events, so event names have to match theirs exactly
=> event names have to match theirs exactly
+> the iOS team mirrors our analytics events

No allocations in the update loop. Profile the particle system, it spikes.
=> No allocations in the update loop

Everything gameplay runs at a fixed 60 Hz tick, rendering is decoupled.
=> Everything gameplay runs at a fixed 60 Hz tick

Art assets are in Perforce, code is in git. I need the new enemy spawner.
=> Art assets are in Perforce, code is in git

units: metres, seconds, radians (engine-wide)
=> units: metres, seconds, radians

we target Switch too, so no compute shaders please. make the fog cheaper
=> no compute shaders please
+> we target Switch too

no malloc after init. ever. we're MISRA.
=> no malloc after init
+> we're MISRA

The bootloader is locked, touch nothing below 0x8000.
=> touch nothing below 0x8000
+> The bootloader is locked

ISRs set a flag and return. Work happens in the main loop. Fix the UART handler, it's doing too much.
=> ISRs set a flag and return
=> Work happens in the main loop

flash with openocd, JLink is at the other office. why does it say target not halted?
=> flash with openocd
+> JLink is at the other office

Our toolchain is arm-gcc 10.3, pinned because of certification
=> Our toolchain is arm-gcc 10.3

I'm an accountant so please no jargon. The script adds VAT twice, can you check?
=> I'm an accountant so please no jargon

our fiscal year starts in July. sum up Q3 for me
=> our fiscal year starts in July

Negative amounts are shown in brackets, that's how our auditors like it. Fix the export.
=> Negative amounts are shown in brackets

round half up, to the cent, at invoice level, never per line. You rounded per line.
=> round half up, to the cent, at invoice level, never per line

please don't overwrite my spreadsheets, write a new file with the date in the name instead
=> don't overwrite my spreadsheets, write a new file with the date in the name instead

For the course, solutions must run on the lab machines (Ubuntu 22.04, no internet). Set up the autograder.
=> solutions must run on the lab machines

I grade anonymously, so student names don't belong in any output.
=> student names don't belong in any output

The notation in this paper is fixed: bold lowercase for vectors, uppercase for matrices. Typeset section 3.
=> The notation in this paper is fixed: bold lowercase for vectors, uppercase for matrices

cite with biblatex, authoryear style. the third reference is missing a DOI
=> cite with biblatex, authoryear style

I write British English and I hyphenate "e-mail". Please copy-edit the intro.
=> I write British English and I hyphenate

Hints first, full solution only on request. I'm trying to learn this.
=> Hints first, full solution only on request

German strings are formal (Sie), French ones too (vous). translate the new keys
=> German strings are formal (Sie), French ones too (vous)

Placeholders like {count} must survive translation, so check them before you hand anything over
=> Placeholders like {count} must survive translation

product names aren't translated. You turned Fastlane into Überholspur, lol
=> product names aren't translated

en-US is the source locale, all others derive from it
=> en-US is the source locale, all others derive from it

Threat model says no outbound traffic from the worker subnet. Write the security group accordingly.
=> no outbound traffic from the worker subnet

Findings go to the private tracker, never to public issues. File this one.
=> Findings go to the private tracker, never to public issues

treat every input as hostile, that includes internal services
=> treat every input as hostile, that includes internal services

We rotate keys quarterly; hardcoding a key id will bite you within three months. Use the alias.
=> We rotate keys quarterly

I'd like a CVE check with each dependency bump from you, one line is enough
=> I'd like a CVE check with each dependency bump from you

semver applies to the CLI flags too. removing one is a major.
=> semver applies to the CLI flags too
+> removing one is a major

Contributors sign the DCO, so keep the Signed-off-by lines when you squash.
=> keep the Signed-off-by lines when you squash
+> Contributors sign the DCO

we're a volunteer project: kind tone in reviews, no sarcasm. Draft a reply to #412.
=> kind tone in reviews, no sarcasm

LTS branches only get security fixes. can you backport 81ac0f2 to 3.x?
=> LTS branches only get security fixes

nope, wrong license. Everything we take in has to be MIT or Apache.
=> Everything we take in has to be MIT or Apache

老师要求用 C++11，编译要加 -Wall -Werror。帮我写第三题
=> 编译要加 -Wall -Werror
+> 老师要求用 C++11

不要直接给我答案，先给思路，我自己写
=> 不要直接给我答案，先给思路

我英语不太好，报错信息帮我翻成中文再解释。这个 segfault 是怎么回事？
=> 报错信息帮我翻成中文再解释
+> 我英语不太好

毕设的代码都放在 ~/thesis 下，数据在移动硬盘上，没插就读不到
=> 毕设的代码都放在 ~/thesis 下
+> 数据在移动硬盘上

实验室服务器只有两块卡，0 号留给师兄，我们跑 1 号
=> 0 号留给师兄，我们跑 1 号
+> 实验室服务器只有两块卡

图表标题写在下面，表格标题写在上面，学校模板规定的
=> 图表标题写在下面，表格标题写在上面

需求评审没过的功能不要提前开发。你先把上次那个改完
=> 需求评审没过的功能不要提前开发

文案不能出现“最”字，广告法
=> 文案不能出现“最”字

埋点命名：页面_模块_动作，全小写。帮我加一下购物车的埋点
=> 埋点命名：页面_模块_动作，全小写

iOS 和安卓要保持一致，改一边就要改另一边
=> iOS 和安卓要保持一致，改一边就要改另一边

对外一律叫“会员”，不叫“用户”，文档里也改过来
=> 对外一律叫“会员”，不叫“用户”

灰度先 5%，观察一天再放量，这是流程，别一把梭
=> 灰度先 5%，观察一天再放量

I promised support that error messages carry a code they can search for. Add one to the upload dialog.
=> error messages carry a code they can search for

Roadmap items live in Notion, bugs in Linear. Could you turn my notes into tickets?
=> Roadmap items live in Notion, bugs in Linear

don't schedule anything on Wednesdays, that's our no-meeting day. when can we do the demo?
=> don't schedule anything on Wednesdays

numbers over adjectives when you write to the board. Rewrite the second paragraph.
=> numbers over adjectives when you write to the board

Legal text is copied verbatim from counsel's doc. You paraphrased it. Undo.
=> Legal text is copied verbatim from counsel's doc

we A/B test anything that touches the checkout, so put it behind a flag
=> we A/B test anything that touches the checkout

Betas ship on the first Tuesday. What's left?
=> Betas ship on the first Tuesday

two spaces after a period is wrong in our house, one is right
=> two spaces after a period is wrong in our house, one is right

the app dies on rotation when the bottom sheet is open

add a pull to refresh to the inbox, it should feel like the one in the feed

Gradle says "Could not resolve androidx.core", offline mode is off, what else?

the boss has 300 hp, takes half damage from fire and enrages at 20%. script that

why does the camera jitter only when vsync is on

spawn rate feels too high on level 3, halve it

Players lose a life when they touch spikes; after three they see the game over screen. Build it in the ECS.

the watchdog resets the board every 8 seconds since I enabled the DMA

write a driver for the BME280, I2C address 0x76, oversampling x4, no interrupts

is volatile enough here or do I need a barrier?

sum column F by month and put it in a new sheet called totals

it shows 1.234,50 but the bank wants 1234.50, just for this upload

I deleted the wrong file, is there a way to get it back?

explain eigenvalues like I'm twelve

make five exam questions about recursion, two easy, two medium, one nasty

The reviewer wrote: "The authors should always report variance." How do I respond?

shorten the abstract to 150 words, the deadline is tonight

what's the difference between tu and vous in a button label?

the Italian file has 12 keys that are empty, fill them from the English one with a TODO

nmap shows 8080 open on the jump box, who put that there?

generate a self signed cert for localhost, valid for a year

could this regex be abused for a ReDoS? ^(a+)+$

check whether any of our images still contain log4j 2.14

The PR adds 4000 lines and no description, I have no idea where to start

close the stale issues that nobody answered in a year, but show me the list before that

should a CLI print to stderr or stdout when it's only progress?

release notes for 4.2 please, from the merged PRs

这道题的时间复杂度是多少，能不能优化到 O(n)

程序跑到一半就卡住了，内存一直在涨

把论文的第二章压缩到三页

用 matplotlib 画一个折线图，横轴是轮数，纵轴是准确率

导师说“每次实验都必须记录随机种子”，这句话用英语怎么说

用户反馈支付成功后订单还是待支付，紧急排查一下

活动规则：每人每天最多抽三次，奖品抽完即止，未中奖送 5 积分。开发抽奖接口

这个需求大概要几天？

Make the invite email shorter, the button should say "Join" and not "Accept invitation".

can we move the demo to Friday? ask the others first please

Compare these two vendors on price, lock-in and support. One table.

The board wants to know why churn went up in May. Pull the numbers.

on mobile the table never fits, users have to scroll sideways all the time

I think the onboarding takes too long, everyone drops off at step 3

dbt models: staging is views, marts are tables. add a mart for refunds
=> staging is views, marts are tables

Airflow DAGs start paused in prod, somebody flips them on by hand after review.
=> Airflow DAGs start paused in prod

I'm on call until Sunday so keep pings short. anyway, the job's OOMing again

you've been joining on email again. Email isn't unique here, account_id is.
=> Email isn't unique here, account_id is

personally I find nested comprehensions unreadable, plain loops are fine
=> I find nested comprehensions unreadable, plain loops are fine

The retention policy allows 90 days of raw events, not a day more. Write the purge job.
=> The retention policy allows 90 days of raw events, not a day more

parquet only, csv breaks on our addresses. convert the loader
=> parquet only

please leave my TODO comments where they are, they're for me
=> leave my TODO comments where they are

Swift 6 mode is on, warnings about concurrency are bugs for us. Fix the ones in Sync.
=> warnings about concurrency are bugs for us
+> Swift 6 mode is on

we snapshot test every view in both appearances. Add them for Profile.
=> we snapshot test every view in both appearances

Feature branches live two days at most, then they get split. Can you split mine?
=> Feature branches live two days at most

oh and Dana owns the schema, run changes by her
=> Dana owns the schema, run changes by her

I read diffs on my phone, so the smaller the better. Next: the footer.
=> I read diffs on my phone, so the smaller the better

when a test is flaky we quarantine it with a ticket, we don't delete it. You deleted it.
=> when a test is flaky we quarantine it with a ticket

Rust edition 2021, and stay off nightly. what's wrong with this lifetime?
=> stay off nightly
+> Rust edition 2021

My reviewer is picky about commit titles: under 50 characters, no period. Amend.
=> under 50 characters, no period

Docker Hub is blocked here (proxy), images come from harbor.corp.test
=> images come from harbor.corp.test
+> Docker Hub is blocked here

Let's agree on something: if you're guessing, say so. What caused the spike?
=> if you're guessing, say so

The customers table is 400M rows, so full scans are out of the question. Optimise the query.
=> full scans are out of the question
+> The customers table is 400M rows

Money talks in cents, dates in UTC, ids in ULID. now the invoice endpoint
=> Money talks in cents, dates in UTC, ids in ULID

that's enough emoji for a lifetime. None from now on, thanks
=> None from now on

It's "sign in", not "log in", across the product.
=> It's "sign in", not "log in", across the product

Why did you mock the clock? freezegun is what we use. Change it.
=> freezegun is what we use

Accessibility is not negotiable for us: focus rings stay, contrast 4.5:1.
=> Accessibility is not negotiable for us

Because the client is in Japan, meetings are at 8 CET and everything is due by then.
=> meetings are at 8 CET

线上日志级别是 WARN，别指望能看到 info。帮我看看这个 NPE
=> 线上日志级别是 WARN

凡是对外的接口都得走网关鉴权。新接口你看着加
=> 凡是对外的接口都得走网关鉴权

变量名别用拼音！改一下 getYonghu
=> 变量名别用拼音

我这边 Windows，命令给 PowerShell 的
=> 命令给 PowerShell 的
+> 我这边 Windows

周五下午不上线，这是规矩。这个 hotfix 等周一
=> 周五下午不上线

单测覆盖率不低于 80%，CI 会卡。先补 utils 的
=> 单测覆盖率不低于 80%

你每次都把 import 顺序打乱，交给 eslint 排就好
=> 交给 eslint 排就好

为了兼容老客户端，v1 接口的字段一个都不能删。现在加个 nickname
=> v1 接口的字段一个都不能删

the DAG ran twice last night, check the trigger

load the events table into duckdb and tell me the top 10 pages

explain this lifetime error to me, slowly

the avatar is squashed on iPhone SE

make the profile header sticky and shrink the avatar when scrolling

I merged it already, sorry. can you open a follow up for the naming?

does Swift 6 complain about this? no need to change anything

remove the three TODOs in Sync.swift, they're done

Users sign in with a code from their mail; the code expires after ten minutes. Write the endpoint.

The mail from ops: "Never restart the broker yourself." So who do I ask?

the query plan shows a seq scan on customers, 400M rows, what index would help?

my PR has been red for an hour, runner seems stuck

rewrite the intro so that it starts with the numbers

it used to be green on main, then Dana merged the schema change

what would you name this table?

NPE 出在第 42 行，user 是 null，看下怎么来的

把 getYonghu 改成 getUser，所有引用一起改

这个接口每秒要支持 2000 次请求，压测一下现在能到多少

优惠券不能叠加使用，过期自动失效，帮我实现

周五要演示，今天先把登录弄好
"""


def lines(block: str) -> list[str]:
    """The prompts of a block."""
    return [line for line in block.strip().splitlines() if line]


class Prompt(Struct, frozen=True, kw_only=True):
    """A prompt, the words that must be found in it, and those that may be."""

    text: str
    wanted: tuple[str, ...]
    allowed: tuple[str, ...]


def prompts(block: str) -> list[Prompt]:
    """The prompts of a block in which a blank line ends each."""
    return [_prompt(each.replace("\n  ", " ").splitlines()) for each in block.strip().split("\n\n")]


def _prompt(its_lines: list[str]) -> Prompt:
    marks = ("=> ", "+> ")
    return Prompt(
        text="\n".join(line for line in its_lines if not line.startswith(marks)),
        wanted=tuple(_words(line) for line in its_lines if line.startswith(marks[0])),
        allowed=tuple(_words(line) for line in its_lines if line.startswith(marks[1])),
    )


def _words(line: str) -> str:
    return line[3:].casefold().removeprefix("please ")
