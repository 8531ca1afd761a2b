// The overview: filter and sort the tables. The data comes from a script of its own, because a page that is a file may
// not read other files.
const ROWS = 100;
const NAME = { table: 0, page: 1, verdict: 2, counts: 3, unchecked: 4, bytes: 5, complete: 6, owner: 7, rules: 8, added: 9, gone: 10, late: 11, nights: 12 };
const PARTS = [["violations", "v"], ["incomplete", "ir"], ["no-report", "uafn"]];
const SEVERITIES = ["violation", "warning", "divergence"];
const form = document.querySelector(".filters");
const body = document.querySelector(".tables tbody");
const more = document.querySelector("button.more");
let lake = null;
let found = [];
let shown = 0;

const plural = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

function showTables(data) {
  lake = data;
  fillFolders();
  if (!readAddress()) applyFilter();
}

// ---- filters; the address holds them, so that a view can be shared and the back button works

const fields = () => [...form.elements].filter((each) => each.name);

function fillFolders() {
  const number = new Map();
  for (const row of lake.tables) {
    const parts = row[NAME.table].split("/");
    for (let depth = 1; depth < parts.length; depth += 1) {
      const folder = `${parts.slice(0, depth).join("/")}/`;
      number.set(folder, (number.get(folder) || 0) + 1);
    }
  }
  const useful = [...number].filter(([folder, tables]) => tables < lake.tables.length && tables > 1 && !folder.endsWith("//"));
  const largest = useful.sort((one, other) => other[1] - one[1]).slice(0, 500).sort((one, other) => (one[0] < other[0] ? -1 : 1));
  for (const [folder, tables] of largest) form.elements.folder.append(new Option(`${folder} (${tables.toLocaleString("en")})`, folder));
}

function readFilter() {
  return Object.fromEntries(fields().map((each) => [each.name, each.value.trim()]));
}

function fits(row, filter, rule, text) {
  return (!filter.verdict || lake.verdicts[row[NAME.verdict]] === filter.verdict) &&
    (!filter.folder || row[NAME.table].startsWith(filter.folder)) &&
    (!filter.owner || lake.owners[row[NAME.owner]] === filter.owner) &&
    (!filter.rule || row[NAME.rules].includes(rule)) &&
    (!filter.state || { new: row[NAME.added], gone: row[NAME.gone], unchecked: row[NAME.unchecked], late: row[NAME.late] }[filter.state]) &&
    (!text || row[NAME.table].toLowerCase().includes(text));
}

const ORDERS = {
  size: (one, other) => (other[NAME.bytes] ?? -1) - (one[NAME.bytes] ?? -1),
  age: (one, other) => (one[NAME.complete] ?? 0) - (other[NAME.complete] ?? 0),
  name: (one, other) => (one[NAME.table] < other[NAME.table] ? -1 : 1),
};

function applyFilter() {
  const filter = readFilter();
  const rule = lake.rules.indexOf(filter.rule);
  const text = (filter.text || "").toLowerCase();
  found = lake.tables.filter((row) => fits(row, filter, rule, text));
  if (ORDERS[filter.order]) found.sort(ORDERS[filter.order]);
  body.replaceChildren();
  shown = 0;
  showMore();
  const of = found.length === lake.tables.length ? "" : ` of ${lake.tables.length.toLocaleString("en")}`;
  document.querySelector(".status").textContent = `${plural(found.length, "table").replace(" ", `${of} `)}.`;
  document.querySelector(".empty").hidden = found.length > 0;
  drawTrend(found);
  const address = new URLSearchParams(Object.entries(filter).filter(([, value]) => value)).toString();
  return address ? `#${address}` : location.pathname;
}

function readAddress() {
  const values = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  const known = fields().some((each) => each.name in values);
  if (!known && location.hash) return false;
  for (const each of fields()) each.value = values[each.name] || "";
  applyFilter();
  return true;
}

addEventListener("hashchange", () => {
  if (!lake || !readAddress() || !location.hash) return;
  const heading = document.getElementById("tables");
  heading.focus({ preventScroll: true });
  heading.scrollIntoView();
});
const remember = () => lake && history.replaceState(null, "", applyFilter());
form.addEventListener("input", remember);
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", () => setTimeout(remember));

// ---- rows

function add(parent, name, text = "", marks = "") {
  const element = document.createElement(name);
  element.textContent = text;
  if (marks) element.className = marks;
  parent.append(element);
  return element;
}

function formatSize(bytes) {
  if (bytes === null) return "";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), units.length - 1);
  return power ? `${(bytes / 1024 ** power).toLocaleString("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 })} ${units[power]}` : `${bytes} B`;
}

function formatAge(complete) {
  if (complete === null) return "never";
  const days = Math.floor((lake.latest - complete) / 86_400_000);
  return days ? plural(days, "day") : "last night";
}

function buildRow(row) {
  const line = document.createElement("tr");
  const head = add(line, "th");
  head.scope = "row";
  add(head, "a", row[NAME.table]).href = `tables/${row[NAME.page]}.html`;
  const verdict = lake.verdicts[row[NAME.verdict]];
  const cell = add(line, "td");
  add(cell, "span", verdict, `mark ${verdict.replaceAll(" ", "-")}`);
  if (row[NAME.late]) cell.append(" "), add(cell, "span", "late", "tag");
  const findings = add(line, "td");
  for (const [at, number] of row[NAME.counts].entries()) {
    if (!number) continue;
    if (findings.childNodes.length) findings.append(", ");
    add(findings, "span", plural(number, SEVERITIES[at]), SEVERITIES[at]);
  }
  if (row[NAME.added]) findings.append(" "), add(findings, "span", `${row[NAME.added].toLocaleString("en")} new`, "tag unlisted");
  add(line, "td", row[NAME.unchecked] || "", "number").dataset.label = "rules not checked";
  add(line, "td", formatSize(row[NAME.bytes]), "number");
  add(line, "td", formatAge(row[NAME.complete]), "number");
  if (lake.owners.length) add(line, "td", lake.owners[row[NAME.owner]] || "");
  return line;
}

function showMore() {
  body.append(...found.slice(shown, shown + ROWS).map(buildRow));
  shown = Math.min(shown + ROWS, found.length);
  more.hidden = shown === found.length;
  more.textContent = `Show ${Math.min(ROWS, found.length - shown)} more of ${(found.length - shown).toLocaleString("en")}`;
}
more.addEventListener("click", showMore);

// ---- the trend of the tables that fit; a table without a report of a night counts with its last verdict before

function drawTrend(rows) {
  const plot = document.querySelector(".trend svg");
  if (!plot) return;
  const columns = plot.querySelectorAll("g");
  const first = lake.days.length - columns.length;
  const counts = lake.days.map(() => new Map());
  for (const row of rows) {
    let last = ".";
    for (let night = 0; night < lake.days.length; night += 1) {
      const letter = row[NAME.nights][night] ?? ".";
      if (letter !== ".") last = letter;
      counts[night].set(last, (counts[night].get(last) || 0) + 1);
    }
  }
  const nights = counts.map((found) => PARTS.map(([, letters]) => [...letters].reduce((sum, letter) => sum + (found.get(letter) || 0), 0)));
  const most = Math.max(...nights.slice(first).map((parts) => parts.reduce((sum, part) => sum + part, 0)), 1);
  for (const [at, column] of columns.entries()) {
    const parts = nights[first + at];
    for (const bar of column.querySelectorAll(":not(.ground):not(title)")) bar.remove();
    let top = 100;
    const words = [];
    for (const [number, part] of parts.entries()) {
      if (!part) continue;
      const height = (100 * part) / most;
      top -= height;
      const bar = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      bar.setAttribute("class", PARTS[number][0]);
      for (const [name, value] of Object.entries({ x: 10 * at + 1, y: top, width: 8, height })) bar.setAttribute(name, value);
      column.append(bar);
      words.push(`${part.toLocaleString("en")} ${PARTS[number][0].replace("-", " ")}`);
    }
    words.push(`${(counts[first + at].get("c") || 0).toLocaleString("en")} conform`);
    column.querySelector("title").textContent = `${lake.days[first + at]}: ${words.join(", ")}`;
  }
  document.querySelector(".trend .most").textContent = most.toLocaleString("en");
}
