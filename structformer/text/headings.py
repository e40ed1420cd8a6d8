"""What headings say: which titles open a list of related pages, and which anchors lead to a title.

Shared by the format plugins, since the customs are those of documentation, not of one format.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

_NO_LETTER = re.compile("[^a-z0-9]+")
_LAST_ACCENT = "\u036f"
# In English there are many; the rest are written as they are.
_SEE_ALSO = re.compile(
    r"""(
        see\ also | (see\ )?related(\ (commands?|pages?|topics?|articles?|links?|guides?|docs?|documentation|reading
            |content|information|resources?|sections?|functions?|material|concepts?|tasks?|reference))?
        | what('s|s|\ is|\ comes)?\ next | next\ steps? | where\ to\ go\ (from\ here|next) | further\ (reading|information|resources)
        | (learn|read)\ more | more\ (information|resources|reading) | additional\ (resources|reading|information)
        | (related\ )?(links|reading) | cross[- ]references?
    )""",
    re.VERBOSE | re.IGNORECASE,
)
# By language: the heading of related pages on Wikipedia, then "Next steps" and its like as translated manuals have it.
_SEE_ALSO_BY_LANGUAGE = """
    af: sien ook | kyk ook
    am: ደግሞ ይዩ
    an: se veiga tamién | veyer tamién
    ar: انظر أيضا | انظر أيضًا | انظر أيضاً | اقرأ أيضا | اقرأ أيضًا | اقرأ أيضاً | مواضيع ذات صلة | الخطوات التالية
    arz: شوف كمان
    as: লগতে চাওক
    ast: ver tamién
    az: həmçinin bax
    ba: шулай уҡ ҡарағыҙ
    be: гл. таксама | глядзі таксама | глядзіце таксама
    bg: вижте също | виж също | виж още | следващи стъпки
    bn: আরও দেখুন | আরো দেখুন
    br: gwelet ivez | gwelit ivez
    bs: također pogledajte | vidi još | povezano
    ca: vegeu també | veure també | articles relacionats | passos següents | següents passos
    ceb: tan-awa usab
    ckb: ئەمانەش ببینە
    cs: viz též | viz také | související články | související | další kroky | související témata
    cv: ҫавӑн пекех пӑхӑр
    cy: gweler hefyd
    da: se også | næste trin
    de: siehe auch | nächste schritte | nächster schritt | wie geht es weiter | verwandte themen | verwandte artikel |
        verwandte inhalte | zugehörige inhalte | zugehöriger inhalt | weiterführende informationen
    el: δείτε επίσης | δείτε ακόμη | βλέπε επίσης | επόμενα βήματα
    eo: vidu ankaŭ
    es: véase también | ver también | vea también | véanse también | artículos relacionados | temas relacionados |
        contenido relacionado | siguientes pasos | próximos pasos | pasos siguientes | qué sigue
    et: vaata ka
    eu: ikus, gainera | ikus gainera
    fa: جستارهای وابسته | همچنین ببینید | نیز ببینید | همچنین نگاه کنید | گام‌های بعدی | مراحل بعدی
    fi: katso myös | seuraavat vaiheet
    fo: sí eisini
    fr: voir aussi | voir également | articles connexes | lire aussi | contenu associé | contenu connexe |
        étapes suivantes | prochaines étapes | a suivre | à suivre
    fy: sjoch ek
    ga: féach freisin
    gd: faic cuideachd
    gl: véxase tamén | ver tamén
    gsw: lueg au
    gu: આ પણ જુઓ
    he: ראו גם | ראה גם | לקריאה נוספת | השלבים הבאים
    hi: इन्हें भी देखें | इन्हे भी देखें | यह भी देखें | ये भी देखें | अगले कदम | अगले चरण
    hr: vidi još | vidi također | povezani članci | sljedeći koraci
    hsb: hlej tež
    hu: lásd még | kapcsolódó szócikkek | kapcsolódó cikkek | következő lépések
    hy: տես նաև | տե՛ս նաև
    id: lihat pula | lihat juga | selanjutnya | langkah selanjutnya | langkah berikutnya
    io: videz anke
    is: tengt efni | sjá einnig
    it: voci correlate | vedi anche | argomenti correlati | contenuto correlato | passaggi successivi | prossimi passi |
        passi successivi
    ja: 関連項目 | 関連記事 | 関連ページ | 関連情報 | 関連トピック | 関連コンテンツ | 次のステップ | 次の手順 | 次の項目
    jv: deleng uga | uga delengen
    ka: იხილეთ აგრეთვე | იხ. აგრეთვე
    kk: тағы қараңыз
    km: សូមមើលផងដែរ
    kn: ಇವನ್ನೂ ನೋಡಿ | ಇವನ್ನೂ ನೋಡಿರಿ
    ko: 같이 보기 | 관련 항목 | 관련 문서 | 관련 콘텐츠 | 다음 단계 | 다음 내용
    ku: binêre herwiha
    ky: дагы караңыз
    la: vide etiam | nexus interni
    lb: kuckt och
    lo: ເບິ່ງຕື່ມ
    lt: taip pat skaitykite | taip pat žiūrėkite | susiję straipsniai | tolesni veiksmai
    lv: skatīt arī | nākamās darbības
    mg: jereo koa
    mk: поврзано | видете исто така | види исто така
    ml: ഇതും കാണുക | ഇവയും കാണുക
    mn: мөн үзэх
    mr: हे सुद्धा पहा | हेसुद्धा पहा | हे देखील पहा | हेही पहा
    ms: lihat juga | lihat pula
    mt: ara wkoll
    nds: kiek ok bi | süh ok
    ne: यो पनि हेर्नुहोस् | यी पनि हेर्नुहोस्
    nl: zie ook | verwante onderwerpen | gerelateerde onderwerpen | gerelateerde artikelen | gerelateerde inhoud |
        volgende stappen
    nn: sjå òg | sjå også
    no: se også | se òg | neste trinn
    oc: veire tanben | vejatz tanben
    or: ଆହୁରି ଦେଖନ୍ତୁ
    pa: ਇਹ ਵੀ ਦੇਖੋ | ਇਹ ਵੀ ਵੇਖੋ
    pl: zobacz też | zobacz także | zobacz również | powiązane tematy | następne kroki | kolejne kroki | co dalej
    pms: vardé ëdcò
    ps: دا هم وګورئ
    pt: ver também | veja também | artigos relacionados | tópicos relacionados | conteúdo relacionado |
        próximos passos | próximas etapas | passos seguintes
    ro: vezi și | vezi şi | articole conexe | pașii următori
    ru: см. также | см также | смотрите также | смотри также | связанные статьи | что дальше | следующие шаги |
        дальнейшие действия
    sco: see an aa
    sd: پڻ ڏسو
    sh: povezano | vidi još | vidi takođe
    si: මේවාත් බලන්න | මෙයත් බලන්න
    sk: pozri aj | súvisiace články | ďalšie kroky
    sl: glej tudi | naslednji koraki
    sq: shiko edhe | shih edhe
    sr: види још | види такође | погледајте још | следећи кораци
    su: tempo ogé
    sv: se även | se också | relaterat innehåll | nästa steg
    sw: tazama pia | angalia pia
    ta: இவற்றையும் பார்க்கவும் | இதையும் பார்க்கவும் | இவற்றையும் பார்க்க | மேலும் காண்க
    te: ఇవి కూడా చూడండి | ఇవీ చూడండి
    tg: нигаред низ
    th: ดูเพิ่ม | ดูเพิ่มเติม | ขั้นตอนถัดไป | ขั้นตอนต่อไป
    tk: şeýle hem serediň
    tl: tingnan din
    tr: ayrıca bakınız | ayrıca bkz | sonraki adımlar
    tt: шулай ук карагыз
    uk: див. також | див також | дивіться також | дивись також | пов'язані статті | наступні кроки | подальші кроки |
        що далі
    ur: مزید دیکھیے | مزید دیکھئے | مزید دیکھیں | یہ بھی دیکھیے
    uz: yana qarang | shuningdek qarang
    vi: xem thêm | các bước tiếp theo | bước tiếp theo
    yi: זעט אויך
    yo: ẹ tún wo
    yue: 睇埋
    zh: 参见 | 參見 | 另见 | 另見 | 参看 | 參看 | 参阅 | 參閱 | 另请参阅 | 另請參閱 | 相关条目 | 相關條目 | 相关主题 |
        相關主題 | 相关文章 | 相關文章 | 相关内容 | 相關內容 | 延伸阅读 | 延伸閱讀 | 下一步 | 接下来 | 接下來 | 后续步骤 | 後續步驟
"""


def _plain(title: str) -> str:
    """A title without what does not tell titles apart: case, signs at its ends."""
    plain = unicodedata.normalize("NFC", title).replace("\u2019", "'").casefold()
    return " ".join(plain.split()).strip(" .:!?*_#-：？！。…¿¡؟\u200e\u200f")


SEE_ALSO_PHRASES = frozenset(_plain(each) for each in re.split(r"\||\b[a-z]{2,3}: ", _SEE_ALSO_BY_LANGUAGE)) - {""}


def is_see_also(title: str) -> bool:
    """True for the titles of related-page lists: "See also", "SEE ALSO", "Related", "What's next" and their like."""
    plain = _plain(title)
    return plain in SEE_ALSO_PHRASES or _SEE_ALSO.fullmatch(plain) is not None


@lru_cache(maxsize=4096)
def github_slug(title: str) -> str:
    """The anchor that GitHub, GitLab and Docusaurus give a title: lower case, punctuation out, each space a hyphen."""
    kept = (c for c in title.strip().lower() if c in " -_" or unicodedata.category(c)[0] in "LNM")
    return "".join(kept).replace(" ", "-")


@lru_cache(maxsize=4096)
def mkdocs_slug(title: str) -> str:
    """The anchor that Python-Markdown (MkDocs) gives a title: ASCII only, runs of spaces and hyphens one hyphen."""
    ascii_title = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_title).strip().lower())


def letters_and_digits(name: str) -> str:
    """What all renderers' anchors of a title have in common: its letters and digits, in small letters, without accents
    on Latin, Greek and Cyrillic ones.
    """
    if name.isascii():
        return _NO_LETTER.sub("", name.lower())
    parts = unicodedata.normalize("NFKD", "".join(filter(_is_part, name)))
    return "".join(filter(_is_part, unicodedata.normalize("NFKD", parts.casefold())))


def _is_part(character: str) -> bool:
    """Whether it is a letter, a digit, or a vowel's sign as Indic scripts have them."""
    return character.isalnum() or (character > _LAST_ACCENT and unicodedata.category(character)[0] == "M")


class Slugs:
    """Gives every title of one document its anchors under the common rules, numbering repeats as each rule does."""

    def __init__(self) -> None:
        self._used: dict[tuple[str, str], int] = {}

    def anchors(self, title: str, explicit: Iterable[str] = ()) -> tuple[str, ...]:
        """Explicit ids first, then GitHub's slug ("-1", "-2" on repeats), then MkDocs' ("_1", "_2") where it
        differs.
        """
        found = list(explicit)
        for rule, slug, joint in (("github", github_slug(title), "-"), ("mkdocs", mkdocs_slug(title), "_")):
            if not slug:
                continue
            seen = self._used.get((rule, slug), 0)
            self._used[rule, slug] = seen + 1
            found.append(f"{slug}{joint}{seen}" if seen else slug)
        return tuple(dict.fromkeys(anchor for anchor in found if anchor))
