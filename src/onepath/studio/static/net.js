// Everything the page asks of its server. Addresses are relative: the token is part of the page's own.

export class Refused extends Error {}

async function answer(response) {
  let told = null;
  try {
    told = await response.json();
  } catch {
    /* no JSON: a refusal before the studio itself */
  }
  if (!response.ok) throw new Refused(told?.error ?? `The studio answered ${response.status}.`);
  return told;
}

async function asked(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Refused("The studio does not answer: it may have been ended.");
  }
  return answer(response);
}

export const get = (path) => asked(path);
export const post = (path, given = {}) =>
  asked(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(given) });
export const remove = (path) => asked(path, { method: "DELETE" });
export const upload = (file) => asked(`files?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file });
