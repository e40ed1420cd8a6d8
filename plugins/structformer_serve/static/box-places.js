// Where the box's button goes in the themes of documentation generators: data only. box-button.js reads it.
//
// at: places, all of which get a button. beside: a selector, all of whose elements count; put: before, after, prepend or
// append; look: a field as wide as its place, a button, an icon or floating; until, from: widths of the window in pixels
// between which it is there; style: what the place asks for. own: the theme's own search, which the box stands in for.
// keys: those that opened it, beside the slash. after: what has to be on the page before anything is put into it.
export const PLACES = [
  {
    name: "Furo",
    at: [
      { beside: ".sidebar-search-container", put: "before", look: "field", style: "margin:.5rem var(--sidebar-item-spacing-horizontal,1rem)" },
      { beside: ".mobile-header .header-right", put: "prepend", look: "icon" },
    ],
    own: ".sidebar-search-container",
  },
  {
    name: "Read the Docs", // of Sphinx, and MkDocs's theme of that name
    at: [
      { beside: "#rtd-search-form", put: "before", look: "field", solid: true, style: "margin-bottom:.8rem" },
      { beside: ".wy-nav-top", put: "prepend", look: "icon", until: 768, style: "float:right" },
    ],
    own: "#rtd-search-form",
  },
  {
    name: "PyData", // also Sphinx Book
    at: [
      { beside: ".bd-header .search-button__button, .bd-header .search-button", put: "before", look: "button" },
      { beside: ".bd-sidebar-primary .search-button__button", put: "before", look: "field" },
    ],
    own: ".search-button__button, .search-button",
  },
  {
    name: "Alabaster",
    at: [
      { beside: ".sphinxsidebar #searchbox", put: "before", look: "field", from: 876, style: "margin:1em 0" },
      { beside: ".sphinxsidebar", put: "after", look: "floating", until: 876 },
    ],
    own: ".sphinxsidebar #searchbox",
  },
  {
    name: "Material for MkDocs",
    at: [{ beside: ".md-header .md-search", put: "before", look: "button", style: "margin:0 .4rem" }],
    own: ".md-header .md-search, .md-header__button[for=__search]",
    keys: ["s", "f"],
  },
  {
    name: "MkDocs",
    at: [
      { beside: ".navbar .nav-item:has(> [data-bs-target='#mkdocs_search_modal'])", put: "before", look: "button", from: 992, style: "align-self:center;margin:0 .5rem;color:var(--bs-navbar-active-color,#fff)" },
      { beside: ".navbar .navbar-toggler[data-bs-target='#navbar-collapse']", put: "before", look: "icon", until: 992, style: "margin:0 .5rem 0 auto;color:var(--bs-navbar-active-color,#fff)" },
    ],
    own: ".nav-item:has(> [data-bs-target='#mkdocs_search_modal'])",
    keys: ["s"],
  },
  {
    name: "Docusaurus",
    at: [{ beside: ".navbar .navbar__items--right", put: "append", look: "button", style: "margin-left:.5rem" }],
    own: ".navbar [class*=navbarSearchContainer] > *, .navbar .navbar__search, .navbar .DocSearch-Button",
    after: "html[data-has-hydrated=true]", // React throws away what it did not make
  },
  {
    name: "mdBook",
    at: [{ beside: "#mdbook-search-toggle, #search-toggle", put: "before", look: "button", style: "align-self:center;margin:0 .5rem;color:var(--icons-hover,inherit)" }],
    own: "#mdbook-search-toggle, #search-toggle, #mdbook-search-wrapper, #search-wrapper",
    keys: ["s"],
  },
  {
    name: "VitePress",
    at: [{ beside: ".VPNavBar .VPNavBarSearch", put: "prepend", look: "button" }],
    own: ".VPNavBarSearch > :not([data-structformer])",
  },
  {
    name: "Starlight",
    at: [{ beside: "header site-search", put: "before", look: "button" }],
    own: "header site-search",
  },
];

// On all other pages.
export const ELSEWHERE = { name: "", at: [{ beside: "body", put: "append", look: "floating" }], own: "" };
