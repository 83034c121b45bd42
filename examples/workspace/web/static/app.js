// Every page works without this; it copies text, and names the button of the table page as one types.
"use strict";

document.documentElement.classList.add("scripted");

function say(text) {
  document.getElementById("said").textContent = text;
}

async function copy(button) {
  const source = document.getElementById(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(source.textContent);
    say("Copied.");
    const label = button.firstChild;
    const before = label.data;
    label.data = "Copied";
    setTimeout(() => { label.data = before; }, 1500);
  } catch {
    // The browser does not let a page write to the clipboard: mark the text, so that one key copies it.
    getSelection().selectAllChildren(source);
    source.focus();
    say("The text is marked; copy it with the keyboard.");
  }
}

for (const button of document.querySelectorAll("button[data-copy]")) {
  button.addEventListener("click", () => copy(button));
}

for (const form of document.querySelectorAll("form[data-ask]")) {
  const word = form.querySelector("[data-word]");
  form.pk.addEventListener("input", () => { word.textContent = form.pk.value ? "Query" : "Scan"; });
}
