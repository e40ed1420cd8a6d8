"""Names in a wiki: namespaces in many languages, redirects, hatnotes, languages; and a dump's own site info."""

import re
from dataclasses import dataclass, field
from html import unescape

from structformer.formats import normalize
from structformer.text import SEE_ALSO_PHRASES

_FILE_WORDS = (
    "file image media datei bild fichier archivo imagen ficheiro imagem bestand afbeelding immagine plik grafika файл изображение файлове "
    "картинка ファイル 画像 文件 檔案 图像 圖像 파일 그림 dosya resim ملف صورة پرونده קובץ תמונה fil tiedosto kuva soubor súbor obrázok fájl kép "
    "fișier imagine αρχείο εικόνα датотека слика датотека slika tệp berkas gambar चित्र fitxer fitxategi ไฟล์ ภาพ চিত্র படிமம் దస్త్రం പ്രമാണം ಚಿತ್ರ ચિત્ર ਤਸਵੀਰ فائل պատկեր ფაილი şəkil сурет выява pilt "
    "fail attēls vaizdas datoteka податотека delwedd íomhá mynd dosiero fasciculus skeda talaksan fichièr"
)
_CATEGORY_WORDS = (
    "category kategorie catégorie categoria categoría categorie kategoria категория категорія カテゴリ 分类 分類 분류 kategori تصنيف رده קטגוריה "
    "luokka kategória kategória categorie κατηγορία категорија kategorija thể_loại श्रेणी kategorio หมวดหมู่ বিষয়শ্রেণী பகுப்பு వర్గం വർഗ്ഗം वर्ग ವರ್ಗ શ્રેણી ਸ਼੍ਰੇਣੀ زمرہ կատեգորիա "
    "კატეგორია kateqoriya санат катэгорыя kategooria categori catagóir flokkur kategorya"
)
FILE_WORDS = frozenset(_FILE_WORDS.split())
CATEGORY_WORDS = frozenset(word.replace("_", " ") for word in _CATEGORY_WORDS.split())
_LANGUAGES = frozenset(
    """aa ab af ak als am an ang ar arc arz as ast av ay az azb ba bar bcl be bg bh bi bjn bm bn bo bpy br bs bug bxr ca cbk cdo ce ceb ch
    chr chy ckb co cr crh cs csb cu cv cy da de din diq dsb dty dv dz ee el eml en eo es et eu ext fa ff fi fj fo fr frp frr fur fy ga gag gan
    gd gl glk gn gom got gu gv ha hak haw he hi hif hr hsb ht hu hy ia id ie ig ik ilo inh io is it iu ja jam jbo jv ka kaa kab kbd kbp kg ki
    kk kl km kn ko koi krc ks ksh ku kv kw ky la lad lb lbe lez lg li lij lmo ln lo lrc lt ltg lv mai mdf mg mhr mi min mk ml mn mr mrj ms mt
    mwl my myv mzn na nah nap nds ne new nl nn no nov nrm nso nv ny oc om or os pa pag pam pap pcd pdc pfl pi pih pl pms pnb pnt ps pt qu rm
    rmy rn ro roa ru rue rw sa sah sat sc scn sco sd se sg sh shn si simple sk sl sm sn so sq sr srn ss st stq su sv sw szl ta tcy te tet tg
    th ti tk tl tn to tpi tr ts tt tum tw ty tyv udm ug uk ur uz ve vec vep vi vls vo wa war wo wuu xal xh xmf yi yo za zea zh zu""".split()
)
REDIRECT = re.compile(
    r"\s*#(?:redirect|weiterleitung|redirection|redirección|redirecionamento|rinvia|doorverwijzing|przekieruj|patrz|tam|перенаправление|"
    r"перенаправлення|転送|リダイレクト|重定向|重新導向|넘겨주기|yönlendirme|تحويل|تغییر_مسیر|הפניה|omdirigering|omdirigeer|ohjaus|uudelleenohjaus|"
    r"přesměruj|redirecteaza|ανακατευθυνση|преусмери|đổi|เปลี่ยนทาง|अनुप्रेषित|"
    r"পুনর্নির্দেশ|வழிமாற்று|దారిమార్పు|തിരിച്ചുവിടുക|გადამისამართება|վերահղում|перанакіраванне|виж|presmeruj|preusmeritev|preusmjeri|"
    r"redirecció|suuna|átirányítás|alih|lencong|omdiriger|alidirektu)\s*:?\s*\[\[([^\[\]{|}<>\n]+)(?:\|[^\[\]\n]*)?\]\]",
    re.IGNORECASE,
)
_INTERWIKI = {
    prefix: address
    for address, prefixes in {
        "https://en.wikipedia.org/wiki/": "w wikipedia",
        "https://en.wiktionary.org/wiki/": "wikt wiktionary",
        "https://en.wikibooks.org/wiki/": "b wikibooks",
        "https://en.wikiquote.org/wiki/": "q wikiquote",
        "https://en.wikisource.org/wiki/": "s wikisource",
        "https://en.wikinews.org/wiki/": "n wikinews",
        "https://en.wikiversity.org/wiki/": "v wikiversity",
        "https://en.wikivoyage.org/wiki/": "voy",
        "https://commons.wikimedia.org/wiki/": "c commons",
        "https://meta.wikimedia.org/wiki/": "m meta",
        "https://species.wikimedia.org/wiki/": "species wikispecies",
        "https://www.wikidata.org/wiki/": "d wikidata",
        "https://www.mediawiki.org/wiki/": "mw",
        "https://doi.org/": "doi",
        "https://datatracker.ietf.org/doc/html/rfc": "rfc",
        "https://phabricator.wikimedia.org/": "phab",
        "http://www.usemod.com/cgi-bin/mb.pl?": "meatball",
    }.items()
    for prefix in prefixes.split()
}
# Templates that stand on top of a section and name related pages, by what they say before the names.
SEE_ALSO_TEMPLATES = SEE_ALSO_PHRASES | {"see also", "seealso", "see", "see-also", "further see"}
HATNOTES = frozenset(
    """main|main article|main articles|main list|further|further information|details|detail|hauptartikel|article détaillé|article principal|
    artículo principal|artigo principal|vedi|hoofdartikel|osobny artykuł|main page|main topic|subarticle|more|further reading list|ap|
    основная статья|main2|see main|article connexe|principal|verfurther""".replace("\n", "")
    .replace("    ", "")
    .split("|")
)
CHARACTERS = {
    **{each: each for each in "= ' 's e er re ère".split()},  # "e" as of XIX{{e}} siècle
    **{
        name.replace("_", " "): shown
        for shown, names in {
            "|": "! pipe",
            "": "- clear",
            " ·": "· dot",
            " •": "•",
            "–": "ndash endash",
            "—": "mdash emdash --",
            " – ": "spaced_ndash snd spnd",
            " ": "nbsp",
            "{": "(",
            "}": ")",
            "{{": "((",
            "}}": "))",
            "||": "!!",
            "c.": "c. circa",
            "no": "n°",
            "av. J.-C.": "av_jc av._j.-c.",
            "π": "pi",
            "†": "dagger",
            "ʻ": "okina",
            "ʼ": "hamza",
        }.items()
        for name in names.split()
    },
}


@dataclass(slots=True)
class Site:
    """A wiki, as its dump describes it."""

    namespaces: dict[str, int] = field(default_factory=dict)
    """Numbers of the namespaces by their names in lower case."""
    language: str | None = None
    database: str = ""
    base: str = ""
    first_letter: bool = True
    """Whether the case of a title's first letter makes no difference."""
    interwiki: dict[str, str] = field(default_factory=dict)
    templates: dict[str, str] = field(default_factory=dict)
    """What templates of the user's show, as patterns by their names in lower case."""

    def address(self, target: str) -> str | None:
        """Return the address of a page on another wiki, by the prefix of a link to it; None for a page of this one."""
        prefix, colon, rest = target.strip(": ").partition(":")
        word = prefix.strip().lower()
        if not colon or word in self.namespaces:
            return None
        base = (
            self.interwiki.get(word)
            or _INTERWIKI.get(word)
            or (f"https://{word}.wikipedia.org/wiki/" if word in _LANGUAGES else None)
        )
        return base + rest.strip().replace(" ", "_") if base else None

    def kind(self, target: str) -> str:
        """ "file", "category", "language", "page": what the prefix of a link's target says."""
        prefix, colon, _ = target.partition(":")
        if not colon:
            return "page"
        word = prefix.replace("_", " ").strip().lower()
        number = self.namespaces.get(word)
        if word in FILE_WORDS or number in (6, -2):
            return "file"
        if word in CATEGORY_WORDS or number == 14:
            return "category"
        return "language" if word in _LANGUAGES and number is None else "page"

    def page_name(self, title: str) -> str:
        """Return a title in the one form the wiki has it: underscores as spaces, the first letter large."""
        title = normalize(title.replace("_", " ").lstrip(":"))
        prefix, colon, rest = title.partition(":")
        if colon and (prefix.strip().lower() in self.namespaces or self.kind(title) in ("file", "category")):
            return f"{_capital(prefix.strip())}:{_capital(rest.strip()) if self.first_letter else rest.strip()}"
        return _capital(title) if self.first_letter else title


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


_NAMESPACE = re.compile(r'<namespace key="(-?\d{1,9})"[^>]*?(?:/>|>([^<]*)</namespace>)')


def read_site(header: str) -> Site:
    """Return the site info at the head of a dump."""
    site = Site()
    for found in _NAMESPACE.finditer(header):
        if found[2]:
            site.namespaces[unescape(found[2]).lower()] = int(found[1])
    if language := re.search(r'xml:lang="([^"]+)"', header):
        site.language = language[1]
    if base := re.search(r"<base>([^<]*)</base>", header):
        site.base = unescape(base[1])
    if name := re.search(r"<dbname>([^<]*)</dbname>", header):
        site.database = unescape(name[1])
    site.first_letter = "<case>case-sensitive</case>" not in header
    return site
