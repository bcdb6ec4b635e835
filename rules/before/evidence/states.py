"""The words with which results say that something goes on, is not there yet, or does not answer, in some thirty
languages. The lists are generous on purpose: with a word too many an agent is reminded later, with one too few it is
reminded too early. They hold whole words where a language has spaces, and stems where it inflects its words. Only short
results are searched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

STATES: Mapping[str, tuple[str, ...]] = {
    "English": (
        r"\b(?:pending|running|in[ _-]?progress|(?:en)?queued|a?waiting|waited|still|processing|building)\b",
        r"\bnot (?:yet )?(?:ready|done|finished|complete|started|available)\b|\bnot yet\b|\bno new\b|\bnothing yet\b",
        r"\b(?:scheduled|retry later|try again later|provisioning|validating|requested|initiali[sz]ing|preparing)\b",
        r"\b(?:starting|creating)\b",
        r"\b(?:pulling|downloading|uploading|installing|compiling|deploying|launching|booting|warming up|loading)\b",
        r"\b(?:syncing|migrating|propagating|rendering|transcoding|indexing|generating|executing|ongoing|unfinished)\b",
        r"\b(?:incomplete|submitted|deferred|paused|on hold|stopping|terminating|restarting|rebooting|retrying)\b",
        r"\b(?:please wait|hold on|in transit|in flight|no (?:reply|response|answer)(?: yet)?)\b",
        r"\b(?:containercreating|podinitializing|crashloopbackoff|init:\d+/\d+)\b",
        # a word in -ing as a state, alone, or with dots
        r"\b(?:status|state|phase|stage|progress|conclusion)\W{1,5}(?:is )?(?:\w{2,24}ing|created|accepted|received)\b",
        r"^\W{0,8}\w{3,24}ing\W{0,8}$|\w{2,24}ing ?(?:\.\.\.|…)",
    ),
    "Chinese": (
        r"正在|进行中|進行中|等待|处理中|處理中|排队|排隊|运行中|運行中|尚未|未完成|未就绪|稍候|稍后|稍後|仍在|还在|還在",
        r"待处理|待處理|[创建加载執执行下载准备启动構构建部署审核安装上传训练]中",
    ),
    "Japanese": (
        r"実行中|処理中|待機|待ち|まだ|未完了|しばらく|保留|ています|ていません",
        r"[\u4e00-\u9fff\u30a0-\u30ff]中(?:です|で|\W|$)",
    ),
    "Korean": (r"[가-힣] ?중(?:입니다|이다|이에요|임|[.…!]|\s*$)|대기|아직|기다|보류",),
    "French": (
        r"en (?:cours|attente|file|traitement|préparation)|patiente|pas encore|attente|démarrage|chargement|attendez",
    ),
    "German": (
        r"\bläuft|\blaeuft|\bwird\b|\bwerden\b|\bwarte|ausstehend|in (?:arbeit|bearbeitung|vorbereitung)|\bnoch\b",
        r"startet|eingereiht|warteschlange",
    ),
    "Russian": (
        r"\w{3,}(?:ется|ётся|ится|ются)\b|ожида|процесс|очеред|подожд|ещ[её] не|не готов|в работе|\bид[её]т",
    ),
    "Ukrainian": (r"\w{3,}(?:ється|ються)\b|очіку|триває|черзі|ще не",),
    "Spanish": (
        r"en (?:curso|progreso|ejecuci|cola|proceso|espera)|pendiente|espera|todavía|aún",
        r"\w{3,}(?:ando|endo|iéndo\w*|ándo\w*)\b",
    ),
    "Portuguese": (
        r"em (?:andamento|execu|espera|curso|progresso|fila|processamento)|pendente|aguard|\bainda|na fila",
    ),
    "Italian": (
        r"in (?:corso|attesa|esecuzione|coda|elaborazione|sospeso|lavorazione)|attendere|\bancora\b",
    ),
    "Romanian": (r"în curs|aștept|se execută",),
    "Arabic": (r"قيد|جار[يٍ]?|انتظار|لم يكتمل|معلق|لا يزال|يتم|بعد",),
    "Persian": (r"در حال|منتظر",),
    "Hebrew": (r"ממתין|בתהליך|עדיין|בהמתנה|רץ",),
    "Turkish": (r"\w{2,}[ıiuü]yor|bekl[ei]|henüz",),
    "Polish": (r"w toku|w trakcie|oczek|trwa\b|uruchami|przetwarz|jeszcze|kolejce|czeka",),
    "Czech": (r"probíhá|čeká|běží|zpracov|frontě",),
    "Dutch": (r"\bwordt\b|\bbezig|\bwacht|in behandeling|nog niet|\bloopt\b",),
    "Scandinavian": (r"pågår|väntar|\bkörs\b|venter|kører|kjører|igang|i gang",),
    "Finnish": (r"käynnissä|odot|jonossa|kesken",),
    "Greek": (r"εκτελείται|αναμονή|εξέλιξη|εκκρεμ",),
    "Hungarian": (r"folyamatban|várakoz",),
    "Hindi": (r"चल रहा|चल रही|प्रतीक्षा|लंबित|जारी|प्रगति|अभी",),
    "Vietnamese": (r"đang|chờ|chưa",),
    "Indonesian": (r"sedang|menunggu|belum|diproses|berjalan",),
    "Thai": (r"กำลัง|รอ|ยังไม่",),
}  # fmt: skip
"""By language: what a state that passes is called."""

GOES_ON = re.compile("|".join(part for parts in STATES.values() for part in parts), re.IGNORECASE | re.MULTILINE)
"""Some state of them."""

ROWS = re.compile(
    r"\b(?:pending|containercreating|podinitializing|init:\d+/\d+|in[ _-]progress|queued|provisioning|creating"
    r"|waiting for|still (?:creating|running|waiting|being)|not ready|0/\d+ )\b|\(health: starting\)|\s(?:PD|CF|CG)\s",
    re.IGNORECASE,
)
"""What stands in longer tables of states: pods, checks of a pull request, jobs of a cluster."""

_GOING = r"(?:pending|running|in[ _-]progress|queued|waiting|processing|building|starting|scheduled)"
AWAITED = re.compile(
    rf"\b(?:status|state|phase|progress|conclusion)\W{{1,4}}(?:is )?{_GOING}\b|^\W{{0,8}}{_GOING}\W{{0,8}}$"
    rf"|\b(?:still|yet|currently|is|are) {_GOING}\b|\b(?:in[ _-]progress|waiting|not (?:yet )?ready|no new output"
    r"|retry later|try again later)\b|进行中|等待|处理中|排队|运行中",
    re.IGNORECASE | re.MULTILINE,
)
"""What even a failed look says of something that is still going on; `running tests` in passing is none."""

BROKE = re.compile(
    # 124, 137, 143: a time limit stopped the command, which says nothing about the thing that it looked at
    r"\bexit(?:ed)?(?: with)?(?: (?:status|code))?:? ?(?!(?:0|124|137|143)\b)[0-9]{1,3}\b|\bexit status [1-9]"
    r"|^\W{0,8}(?:error|fatal|panic|traceback)\b|\b[1-9]\d{0,6} (?:tests? )?(?:failed|failing|failures?|errors?)\b"
    r"|\bassertionerror\b|\bnpm err!|^-{0,3} ?fail(?:ed)?\b",
    re.IGNORECASE | re.MULTILINE,
)
"""The result of something that has certainly run and failed."""

ABSENT = re.compile(
    r"connection (?:was )?(?:refused|reset|timed out)|econnre|etimedout|ehostunreach|no route to host|not listening"
    r"|(?:failed|unable|could not|couldn't|can ?not|can't) (?:to )?(?:connect|reach|resolve)|unreachable|host is down"
    r"|empty reply from server|name or service not known|(?:http|error|status|code)\W{0,12}50[234]\b|^\W*50[234]\b"
    r"|bad gateway|(?:service|temporarily) unavailable|gateway time|not reachable|max retries exceeded|timed? ?out",
    re.IGNORECASE,
)
"""A server does not answer, perhaps because it is still starting."""

UNFINISHED = re.compile(
    r"[\"']?\w{0,24}(?:done|ready|complete|finish|available|exists|healthy|closed|merged|alive|ended|resolved|conclusion"
    r"|unread|remaining|progress|percent)\w{0,24}[\"']?\s?[:=]\s?"
    r"(?:false|null|none|nil|undefined|0(?:\.0+)?%?|\[\s?\]|\"\")(?=[\s,;}\]]|$)"
    r"|[\"'](?:state|status)[\"']\s?:\s?(?:[\"'](?:new|open|unknown|none|idle)[\"']|null)",
    re.IGNORECASE,
)
"""`"done": false`, `finished_at=null`, `"unread": 0`, `"state": "new"`."""

NO_EFFECT = re.compile(
    r"\bno (?:\w+ )?(?:changes?|replacements?|modifications?|differences?|edits?|effect|occurrences?|match(?:es)?)\b"
    r"|\bnothing (?:was |to )?(?:change|commit|replace|update|do|edit)|\bunchanged\b|\bidentical\b"
    r"|\b(?:not|n't) (?:changed|modified|replaced|found)\b|\balready (?:exists|applied|up[- ]to[- ]date|present)"
    r"|\b(?:0|zero) (?:files? |lines? )?(?:replacements?|changes?|changed|occurrences?|edits|matches)\b"
    r"|did(?: not|n't) (?:match|change)|没有(?:任何)?(?:变化|更改|修改|变更)"
    r"|未(?:更改|修改|变更|找到)"
    r"|変更(?:なし|され|はあり|点はあり)|변경(?:된|\s?사항)|keine änderung|unverändert"
    r"|aucune? (?:modification|changement)|inchangé|(?:sin|ningún) cambio|(?:sem|nenhuma) altera|nessuna modifica"
    r"|нет изменений|без изменений|لا تغيير|لم يتغير",
    re.IGNORECASE,
)
"""Words of an edit that changed nothing."""
