// The validation report: filter the findings.
const form = document.querySelector(".filters");

function filterFindings() {
  const severity = form.elements.severity.value;
  const text = form.elements.text.value.trim().toLowerCase();
  const rules = all(".cause");
  for (const rule of rules) {
    rule.hidden = Boolean((severity && rule.dataset.severity !== severity) || (text && !rule.textContent.toLowerCase().includes(text)));
  }
  const shown = rules.filter((rule) => !rule.hidden).length;
  document.querySelector(".status").textContent = `${shown} of ${rules.length} rules with findings.`;
  document.querySelector(".empty").hidden = shown > 0;
}

if (form) {
  form.addEventListener("input", filterFindings);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(filterFindings));
}
