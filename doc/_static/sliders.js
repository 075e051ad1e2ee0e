// The pages with sliders. Every number and every rounding is in the page; this only chooses.
"use strict";

const part = (id) => document.getElementById(id);
const stored = (id) => JSON.parse(part(id).textContent);

// Call `update` when a slider moves, and say where it stands.
function follow(name, names, update) {
  const input = part("try-" + name);
  const place = () => {
    input.setAttribute("aria-valuetext", names[input.value]);
    input.nextElementSibling.textContent = names[input.value];
  };
  input.addEventListener("input", () => { place(); update(); });
  place();
}

function cell(row, text, kind) {
  const made = row.appendChild(document.createElement(kind));
  made.textContent = text;
  if (kind === "th") made.scope = "row";
}

function plans() {
  const data = stored("try-plans");
  const at = (name) => data.stops[name][part("try-" + name).value];
  const named = (name) => data.names[name][part("try-" + name).value];
  const kind = part("try-kind");

  function update() {
    const [n, d, k, epsilon] = ["n", "d", "k", "epsilon"].map(at);
    const [name, shell, python] = data.kinds[kind.selectedIndex];
    const rows = data.plans[[name, n, d, k, epsilon].join()];
    const [method, captured, low, high, least] = rows[0];
    const setting = `${named("n")}, ${named("d")}, ${named("k")} and ${named("epsilon")}`;
    const wanted = data.nothing[[name, n, d, k, epsilon].join()];  // undefined: something is found
    const nothing = wanted !== undefined;
    const chance = `Directions at random capture ${data.chance[[d, k].join()]}. `;
    part("try-plan-says").textContent = nothing
      ? `No method finds this with ${setting}: what it releases is noise. ${chance}`
        + (wanted ? `About ${wanted} people would do.` : "Ask for fewer components or more epsilon.")
      : `With ${setting}, expect ${captured} `
        + `of the best possible variance from ${data.methods[method]}, which PrivatePCA takes. `
        + `Half of all fits: ${low} to ${high}. ${chance}`
        + `${least || data.most} people would ${least ? "" : "not "}do for ${data.enough}.`;
    part("try-plan-rows").replaceChildren(...rows.map(([method, captured, low, high, least], i) => {
      const row = document.createElement("tr");
      cell(row, data.methods[method] + (i || nothing ? "" : " (recommended)"), "th");
      const range = [`${low} to ${high}`, least || `more than ${data.most}`];
      for (const text of [captured, ...(nothing ? ["noise", "-"] : range)]) cell(row, text, "td");
      return row;
    }));
    part("try-shell").textContent =
      `skdppca plan --n ${n} --d ${d} --k ${k} --epsilon ${epsilon}${shell}`;
    part("try-python").textContent = `plan(${n}, ${d}, ${k}, epsilon=${epsilon}${python})`;
  }

  for (const name of Object.keys(data.names)) follow(name, data.names[name], update);
  kind.addEventListener("change", update);
  update();
  part("try-plan").hidden = false;
}

function attacks() {
  const data = stored("try-attacks");
  function update() {
    const { says, curve } = data.attacks[part("try-attack").value];
    part("try-attack-says").replaceChildren(...says.map((text) => {
      const line = document.createElement("p");
      line.textContent = text;
      return line;
    }));
    part("try-curve").setAttribute("d", curve);
  }
  follow("attack", data.names, update);
  update();
  part("try-attack-control").hidden = false;
}

if (part("try-plans")) plans();
if (part("try-attacks")) attacks();
