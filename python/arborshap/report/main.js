// Puts the page together.

async function main() {
  const report = new Report(await unpackAll(JSON.parse(byId("report-data").textContent)));
  byId("report-data").remove();
  const predicted = report.predictions[0];
  const highest = predicted.reduce((best, value, row) => (value > predicted[best] ? row : best), 0);
  const lowest = predicted.reduce((best, value, row) => (value < predicted[best] ? row : best), 0);
  const among = report.contrasts?.rows;
  Object.assign(state, { a: among ? among[0] : highest, b: among ? among[among.length - 1] : lowest });
  if (report.outputs.length > 1) {
    byId("output").append(...report.outputs.map((name, i) => make("option", { value: i }, name)));
    byId("output").addEventListener("change", (event) => state.set("output", Number(event.target.value)));
    byId("output-choice").hidden = false;
  }
  byId("lead").textContent = lead(report);
  byId("unit-says").textContent = report.unit_says;
  let [overview, dependence] = [null, null];
  theme((everything) => {
    overview?.repaint(true, everything);
    dependence?.repaint();
  });
  summary(report);
  new Predictions(report);
  overview = new Overview(report);
  if (report.data) dependence = new Dependence(report);
  if (report.interactions) new Interactions(report);
  oneRow(report);
  if (report.trees && report.nShown > 1) {
    const trees = new Trees(report);
    contrasts(report, trees);
    new TraceViewer(report, trees);
  }
  how(report);
  const links = {
    summary: "Glance",
    predictions: "Predictions",
    importance: "Features",
    dependence: "One feature",
    interactions: "Interactions",
    row: "One row",
    contrast: "A and B",
    trace: "Trace",
    how: "How",
  };
  for (const [id, text] of Object.entries(links)) {
    if (!byId(id).hidden) byId("sections").append(make("li", {}, make("a", { href: `#${id}` }, text)));
  }
  document.documentElement.dataset.ready = "true";
}

main().catch((error) => {
  byId("failure").textContent = `This page could not be shown: ${error.message}. It needs a browser from 2023 or later.`;
  byId("failure").hidden = false;
  throw error;
});
