"""Quantities of siunitx as they are printed: \\SI{9.81}{\\metre\\per\\second\\squared} is 9.81 m/s²."""

import re

from structformer_latex.commands import by_name, by_pair
from structformer_latex.output import Part

_UNITS = by_pair(
    """metre=m meter=m second=s gram=g kilogram=kg ampere=A kelvin=K mole=mol candela=cd
        becquerel=Bq celsius=°C degreeCelsius=°C coulomb=C farad=F gray=Gy hertz=Hz
        henry=H joule=J katal=kat lumen=lm lux=lx newton=N ohm=Ω pascal=Pa radian=rad
        siemens=S sievert=Sv steradian=sr tesla=T volt=V watt=W weber=Wb day=d hour=h
        hectare=ha litre=L liter=L minute=min tonne=t arcminute=′ arcsecond=″ degree=°
        percent=% angstrom=Å bar=bar barn=b knot=kn mmHg=mmHg nauticalmile=M bel=B
        decibel=dB neper=Np electronvolt=eV dalton=Da astronomicalunit=au bit=bit byte=B
        bohr=a₀ elementarycharge=e clight=c atomicmassunit=u
        um=µm us=µs ug=µg uF=µF kohm=kΩ Mohm=MΩ"""
)
_PREFIXES = by_pair(
    """yocto=y zepto=z atto=a femto=f pico=p nano=n micro=µ milli=m centi=c deci=d deca=da
        deka=da hecto=h kilo=k mega=M giga=G tera=T peta=P exa=E zetta=Z yotta=Y kibi=Ki
        mebi=Mi gibi=Gi tebi=Ti"""
)
_POWERS = str.maketrans("0123456789-+", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺")
_EXPONENT = re.compile(r"\s*([^eEdD]*?)\s*[eEdD]\s*\+?(-?\d+)\s*")
_PLUS_MINUS = re.compile(r"\s*\+-\s*")
_TIMES = re.compile(r"(?<=\d)\s*x\s*(?=\d)")
_TOKEN = re.compile(
    r"\\(?P<name>[a-zA-Z]+)\s*(?:\{(?P<argument>[^{}]*)\})?|\^(?:\{(?P<power>[^{}]*)\}|(?P<digit>.))|(?P<text>[^\\^]+)"
)


def unit(source: str) -> str:
    """Return a unit's source as it is printed; what is unknown stays as its name."""
    parts: list[str] = []
    prefix = power = ""
    below = False
    for token in _TOKEN.finditer(source):
        name, argument = token["name"], token["argument"] or ""
        if (exponent := token["power"] or token["digit"]) is not None:
            if parts:
                parts[-1] += exponent.strip().translate(_POWERS)
            continue
        if name is None:
            parts += [piece for piece in re.split(r"[.~\s{}]+", token["text"]) if piece]
            continue
        if name in _PREFIXES:
            prefix = _PREFIXES[name]
        elif name == "per":
            below = True
        elif name in ("square", "cubic", "raiseto"):
            power = {"square": "²", "cubic": "³"}.get(name, argument.translate(_POWERS))
        elif name in ("squared", "cubed", "tothe"):
            if parts:
                parts[-1] += {"squared": "²", "cubed": "³"}.get(name, argument.translate(_POWERS))
        elif name == "of":
            if parts:
                parts[-1] += f" {argument}"
        else:
            symbol = _UNITS.get(name, name)
            parts.append(("/" if below else "") + prefix + symbol + power)
            prefix = power = ""
            below = False
    return "".join(part if part.startswith("/") else f" {part}" for part in parts).lstrip()


def number(shown: str) -> str:
    """Return a number as it is printed: 1.2e-3 is 1.2 × 10⁻³."""
    found = _EXPONENT.fullmatch(shown)
    if found is not None:
        shown = f"{found[1]} × 10{found[2].translate(_POWERS)}".removeprefix(" × ")
    return _TIMES.sub(" × ", _PLUS_MINUS.sub(" ± ", shown))


class Quantities(Part):
    """siunitx's commands."""

    def _quantity(self, name: str) -> None:
        argument, plain = self._cursor.argument, self._output.plain
        self._cursor.optional()
        numbers = [plain(argument())] if name not in ("si", "unit") else []
        if name.endswith("range"):
            numbers.append(plain(argument()))
        if name == "ang":
            signed = zip(numbers[0].split(";"), "°′″", strict=False)
            self._output.builder.text("".join(f"{part.strip()}{sign}" for part, sign in signed if part.strip()))
            return
        source = ""
        if not name.startswith("num"):
            self._cursor.optional()
            source = argument()
        parts = numbers if name.endswith("range") else "".join(numbers).split(";")
        joined = ("–" if name.endswith("range") else ", ").join(number(part.strip()) for part in parts)
        self._output.builder.text(f"{joined} {unit(source)}".strip())

    COMMANDS = by_name(
        ("SI qty si unit num ang SIrange qtyrange numrange SIlist qtylist numlist qtyproduct numproduct", _quantity)
    )
