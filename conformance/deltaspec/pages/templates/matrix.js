// The matrix: suites, arrow keys, filters, and the details of a case.
const { cases, causes: facts, histories, requirements, rows: rowLists, commands } = JSON.parse(document.getElementById("details").textContent);
const statements = JSON.parse(document.getElementById("statements").textContent);
const filters = document.querySelector(".filters");
const names = ["engine", "row", "suite", "outcome", "requirement", "text"];
const causes = all("[data-cause]");

const found = (filter) => {
  const text = filter.text.toLowerCase();
  const title = (each) => causes[each.cause].querySelector(".title").textContent;
  return cases.filter((each) =>
    (!filter.engine || facts[each.cause].engine === filter.engine) &&
    (!filter.row || rowLists[each.rows].includes(filter.row)) &&
    (!filter.suite || each.suite === filter.suite) &&
    (!filter.outcome || [each.crashed ? "crashed" : "failed", each.change, facts[each.cause].listed ? "" : "unlisted"].includes(filter.outcome)) &&
    (!filter.requirement || requirements[each.requirements].some((name) => name.startsWith(filter.requirement))) &&
    (!text || `${each.case} ${title(each)} ${(each.text || []).join(" ")}`.toLowerCase().includes(text)));
};

const plural = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

// ---- filters; the address holds them, so that a view can be shared and the back button works

let shown = new Map();

function readFilter() {
  return Object.fromEntries(names.map((name) => [name, filters.elements[name].value.trim()]));
}

function applyFilter() {
  const filter = readFilter();
  const matching = found(filter);
  shown = Map.groupBy ? Map.groupBy(matching, (each) => each.cause) : group(matching);
  for (const [number, cause] of causes.entries()) {
    const some = shown.get(number) || [];
    cause.parentElement.hidden = !some.length;
    cause.querySelector(".count b").textContent = some.length.toLocaleString("en");
    if (cause.open) fillCause(cause, number);
  }
  const total = matching.length === cases.length ? "" : ` of ${cases.length.toLocaleString("en")}`;
  document.querySelector(".status").textContent =
    `${matching.length.toLocaleString("en")}${total} ${cases.length === 1 ? "failure" : "failures"} with ${plural(shown.size, "cause")}.`;
  document.querySelector(".empty").hidden = matching.length > 0;
  for (const row of all("[aria-labelledby='not-asked'] tbody tr")) {
    const pairs = all("[data-engine]", row);
    for (const pair of pairs) pair.hidden = Boolean(filter.engine && pair.dataset.engine !== filter.engine);
    row.hidden = Boolean(filter.suite && row.dataset.suite !== filter.suite) || pairs.every((pair) => pair.hidden);
  }
  markCell(filter);
  const address = new URLSearchParams(Object.entries(filter).filter(([, value]) => value)).toString();
  return address ? `#${address}` : "";
}

function group(matching) {
  const groups = new Map();
  for (const each of matching) groups.set(each.cause, [...(groups.get(each.cause) || []), each]);
  return groups;
}

function markCell(filter) {
  const note = document.querySelector(".selection");
  note.hidden = true;
  for (const cell of all("td.picked")) cell.classList.remove("picked");
  if (!filter.engine) return;
  const cell = all(".matrix td[data-engine]").find((each) =>
    each.dataset.engine === filter.engine && each.dataset.row === (filter.row || "all") &&
    each.closest("tr").dataset.suite === filter.suite);
  if (!cell) return;
  cell.classList.add("picked");
  note.textContent = `${cell.firstElementChild.getAttribute("aria-label")}.`;
  note.hidden = false;
}

function setFilter(values) {
  for (const name of names) filters.elements[name].value = values[name] || "";
  applyFilter();
}

filters.addEventListener("input", () => history.replaceState(null, "", applyFilter() || location.pathname));
filters.addEventListener("submit", (event) => event.preventDefault());
filters.addEventListener("reset", () => setTimeout(() => history.replaceState(null, "", applyFilter() || location.pathname)));

function readAddress() {
  const values = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  if (names.some((name) => name in values)) setFilter(values);
  else if (!location.hash) setFilter({});
  return names.some((name) => name in values);
}

// ---- parts of the page are closed at first, so that the engines fit on a screen

function openPart(heading) {
  heading.closest("details").open = true;
}

addEventListener("hashchange", () => {
  const heading = document.getElementById("failures");
  if (!readAddress()) return;
  openPart(heading);
  heading.focus({ preventScroll: true });
  heading.scrollIntoView();
});

// ---- cases

function fillCause(cause, number) {
  cause.querySelector(".cases").replaceChildren(...(shown.get(number) || []).map(buildCase));
}

function setList(root, selector, lines, fill) {
  const list = root.querySelector(selector);
  list.hidden = !lines.length;
  list.querySelector("ol, ul").replaceChildren(...lines.map((line) => {
    const item = document.createElement("li");
    fill(item, line);
    return item;
  }));
}

function buildCase(each) {
  const root = document.getElementById("case").content.firstElementChild.cloneNode(true);
  root.querySelector(".id").textContent = each.case;
  root.querySelector(".crashed").hidden = !each.crashed;
  root.addEventListener("toggle", () => fillCase(root, each), { once: true });
  return root;
}

function fillCase(root, each) {
  const isDescribed = "history" in each;
  const told = isDescribed ? (each.text || []).join("\n") || "The report has no message." : "This page does not describe the case; run it again, or see matrix.json.";
  root.querySelector(".text").textContent = told;
  for (const name of ["condition", "columns"]) {
    const line = root.querySelector(`.${name}`);
    line.hidden = !each[name];
    line.querySelector("code").textContent = each[name] || "";
  }
  const plain = (item, line) => { item.textContent = line; };
  root.querySelector(".rows").hidden = !each.missing && !each.surplus;
  setList(root, ".missing", each.missing || [], plain);
  setList(root, ".surplus", each.surplus || [], plain);
  setList(root, ".history", isDescribed ? histories[each.history] : [], plain);
  setList(root, ".requirements", requirements[each.requirements], (item, name) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    button.title = "Show all failures that test it";
    button.addEventListener("click", () => { location.hash = new URLSearchParams({ requirement: name }); });
    item.append(button, ` ${statements[name]}`);
  });
  root.querySelector(".command code").textContent = commands[each.replay].join(each.case);
}

for (const [number, cause] of causes.entries()) {
  cause.addEventListener("toggle", () => { if (cause.open) fillCause(cause, number); });
}

// ---- the matrix

for (const button of all(".expand")) {
  button.addEventListener("click", () => {
    const open = button.getAttribute("aria-expanded") !== "true";
    button.setAttribute("aria-expanded", open);
    for (const row of all("tr.sub", button.closest("tbody"))) row.hidden = !open;
  });
}

for (const select of all("[data-suites]")) {
  select.addEventListener("change", () => {
    const table = select.closest("section").querySelector(".matrix");
    table.classList.toggle("by-suite", Boolean(select.value));
    for (const row of all("tbody tr", table)) row.hidden = row.dataset.suite !== select.value;
    for (const button of all(".expand", table)) button.setAttribute("aria-expanded", "false");
    useOneTabStop(table);
  });
}

function useOneTabStop(table) {
  for (const link of all("td a", table)) link.tabIndex = -1;
  const first = all("tbody tr:not([hidden]) td a", table)[0];
  if (first) first.tabIndex = 0;
}

for (const table of all(".matrix")) {
  useOneTabStop(table);
  table.addEventListener("keydown", (event) => {
    const link = event.target.closest("td a");
    if (!link) return;
    const rows = all("tbody tr:not([hidden])", table);
    const row = rows.indexOf(link.closest("tr"));
    const column = link.parentElement.cellIndex;
    const cells = (index, columns) => columns.map((at) => rows[index]?.cells[at]?.querySelector("a")).find(Boolean);
    const to = {
      ArrowRight: () => cells(row, range(column + 1, rows[row].cells.length)),
      ArrowLeft: () => cells(row, range(1, column).reverse()),
      ArrowDown: () => range(row + 1, rows.length).map((index) => cells(index, [column])).find(Boolean),
      ArrowUp: () => range(0, row).reverse().map((index) => cells(index, [column])).find(Boolean),
      Home: () => cells(row, range(1, rows[row].cells.length)),
      End: () => cells(row, range(1, rows[row].cells.length).reverse()),
    }[event.key]?.();
    if (!to) return;
    event.preventDefault();
    for (const other of all("td a[tabindex='0']", table)) other.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  });
}

function range(from, to) {
  return Array.from({ length: Math.max(to - from, 0) }, (_, index) => from + index);
}

if (readAddress()) openPart(document.getElementById("failures"));
else applyFilter();
document.querySelector(".skip").addEventListener("click", () => openPart(document.getElementById("failures")));
