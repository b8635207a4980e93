"""One spelling for comparisons: case, width, apostrophes, and Chinese in traditional as in simplified characters."""

from __future__ import annotations

import unicodedata

#: Traditional and simplified, side by side: the characters in which people tell how they work.
_PAIRS = """
們们 這这 個个 後后 來来 時时 會会 對对 說说 還还 沒没 為为 過过 現现 開开 關关 發发 經经 動动 問问
題题 間间 裡里 裏里 麼么 樣样 點点 頭头 專专 項项 團团 隊队 應应 該该 請请 讓让 給给 與与 從从 換换
遷迁 轉转 變变 舊旧 廢废 棄弃 線线 測测 試试 環环 產产 業业 務务 員员 組组 統统 標标 準准 規规 則则
約约 習习 慣惯 總总 結结 決决 選选 擇择 採采 評评 審审 討讨 論论 議议 確确 認认 記记 錄录 寫写 讀读
檔档 資资 庫库 碼码 儲储 簽签 異异 錯错 誤误 報报 訴诉 單单 雙双 號号 類类 構构 設设 計计 調调 處处
機机 製制 電电 腦脑 網网 頁页 鏈链 連连 數数 據据 編编 譯译 執执 運运 維维 護护 傳传 輸输 進进 達达
遠远 邊边 種种 級级 層层 導导 師师 學学 實实 驗验 際际 終终 於于 卻却 雖虽 儘尽 盡尽 僅仅 衹只 隻只
並并 許许 須须 預预 備备 啟启 閉闭 壞坏 舉举 擔担 負负 責责 貨货 買买 賣卖 錢钱 幣币 價价 範范 圍围
長长 寬宽 邏逻 輯辑 視视 覺觉 聽听 聲声 見见 觀观 親亲 國国 語语 詞词 態态 狀状 嗎吗 喚唤 課课 歲岁
曆历 歷历 歸归 當当 紀纪 縮缩 續续 繼继 緩缓 絕绝 絡络 細细 納纳 純纯 紅红 綠绿 藍蓝 黃黄 燈灯 熱热
無无 煩烦 獨独 獲获 禮礼 離离 難难 雜杂 隨随 險险 陣阵 階阶 隱隐 靜静 響响 頂顶 順顺 頻频 顯显 風风
飛飞 餘余 館馆 驅驱 驚惊 體体 鬧闹 龍龙 齊齐 軟软 輕轻 較较 載载 辦办 辭辞 農农 適适 遲迟 遺遗 鄰邻
醫医 釋释 針针 鈕钮 銷销 鎖锁 錶表 鍵键 鏡镜 鐘钟 門门 閱阅 闆板 麗丽 黨党 兩两 內内 冊册 凍冻 別别
刪删 劃划 劇剧 剛刚 創创 勁劲 勝胜 勞劳 勢势 區区 協协 參参 叢丛 嚴严 圖图 圓圆 場场 塊块 夠够 夾夹
奪夺 妝妆 孫孙 宮宫 寶宝 將将 屬属 嶺岭 幫帮 幾几 廠厂 廣广 徑径 復复 複复 恆恒 悅悦 惡恶 愛爱 慮虑
憑凭 懶懒 戰战 戶户 拋抛 掃扫 掛挂 損损 搶抢 撥拨 擋挡 擊击 擬拟 擴扩 攔拦 敗败 敵敌 斷断 暫暂 書书
條条 楊杨 樓楼 樹树 橋桥 檢检 權权 歡欢 殺杀 毀毁 氣气 況况 滾滚 滿满 漢汉 潔洁 濕湿 爛烂 爭争 爺爷
牆墙 獎奖 瑪玛 畫画 疊叠 癮瘾 盤盘 眾众 監监 礙碍 禍祸 穩稳 窮穷 竊窃 筆笔 簡简 籤签 糾纠 紙纸 紹绍
綁绑 緊紧 緒绪 績绩 繞绕 罰罚 羅罗 聯联 職职 聰聪 肅肃 脈脉 腳脚 腸肠 膽胆 臨临 臺台 興兴 艱艰 莊庄
萬万 葉叶 蓋盖 薦荐 藝艺 藥药 蘋苹 蘭兰 虧亏 蟲虫 術术 衛卫 衝冲 補补 裝装 訂订 訊讯 訓训 託托 訪访
証证 證证 詢询 詳详 誇夸 誌志 誠诚 誰谁 談谈 諾诺 謝谢 識识 貝贝 財财 貢贡 貫贯 販贩 貼贴 費费 賀贺
賴赖 購购 贏赢 趕赶 趙赵 跡迹 踐践 軍军 軸轴 輛辆 輪轮 轄辖 邁迈
"""
_SIMPLIFIED = str.maketrans({pair[0]: pair[1] for pair in _PAIRS.split()})


def in_simplified(text: str) -> str:
    """Return a text with its traditional characters as simplified ones; of the same length."""
    return text if text.isascii() else text.translate(_SIMPLIFIED)


def folded(text: str) -> str:
    """Return a text in one case, width, script and kind of apostrophe; it may have another length."""
    return unicodedata.normalize("NFKC", in_simplified(text)).casefold().replace("’", "'")
