/** After the last key, before a text is checked. */
const AFTER_MS = 400;
/** A text of rules is compiled by a process of its own. */
const GIVEN_UP_MS = 30_000;

/**
 * Has a policy checked as somebody types, and puts what the check says in the place of what stood there; without scripts the button does that.
 * A check that a newer text overtook is dropped.
 */
export function checkedAsTyped(): void {
  const form = document.querySelector<HTMLFormElement>('form[data-check]');
  const text = form?.querySelector<HTMLTextAreaElement>('textarea[name="body"]');
  if (!form || !text) return;
  let timer: number | undefined;
  let asking: AbortController | undefined;
  const check = async () => {
    asking?.abort();
    const mine = (asking = new AbortController());
    try {
      const answer = await fetch(form.dataset['check'] ?? '', {
        method: 'POST',
        headers: { accept: 'text/html' },
        body: fieldsOf(form),
        signal: AbortSignal.any([mine.signal, AbortSignal.timeout(GIVEN_UP_MS)]),
      });
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      const said = page.querySelector('[data-checked]');
      if (mine.signal.aborted) return;
      if (said) form.querySelector('[data-checked]')?.replaceWith(said);
      else notChecked(form, page.querySelector('#main .foreign')?.textContent ?? 'Gate said something else');
    } catch {
      if (!mine.signal.aborted) notChecked(form, 'Gate does not answer');
    }
  };
  form.addEventListener('input', ({ target }) => {
    if (target !== text && !(target instanceof HTMLInputElement && target.name === 'policy_name')) return;
    // What a lab found, or still finds, below is not of this text.
    document.documentElement.classList.add('typed-since');
    clearTimeout(timer);
    timer = window.setTimeout(() => void check(), AFTER_MS);
  });
  // What is sent asks for itself.
  form.addEventListener('submit', () => {
    clearTimeout(timer);
    asking?.abort();
  });
  form.addEventListener('click', (event) => {
    const place = event.target instanceof Element ? event.target.closest<HTMLElement>('[data-line]') : null;
    if (!place) return;
    event.preventDefault();
    goTo(text, Number(place.dataset['line']), Number(place.dataset['column'] ?? 1));
  });
}

const fieldsOf = (form: HTMLFormElement): URLSearchParams =>
  new URLSearchParams(
    [...new FormData(form)].flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  );

/** Puts the cursor where a message points, and the line into sight. */
function goTo(text: HTMLTextAreaElement, line: number, column: number): void {
  const lines = text.value.split('\n');
  const before = lines.slice(0, line - 1).reduce((sum, { length }) => sum + length + 1, 0);
  const at = before + Math.min(Math.max(0, column - 1), lines[line - 1]?.length ?? 0);
  text.focus();
  text.setSelectionRange(at, at);
  text.scrollTop = ((line - 1) / Math.max(1, lines.length)) * text.scrollHeight - text.clientHeight / 2;
}

function notChecked(form: HTMLFormElement, why: string): void {
  const words = document.createElement('p');
  words.className = 'notice bad';
  words.textContent = `It was not checked: ${why}. What you typed stays here.`;
  form.querySelector('[data-checked]')?.replaceChildren(words);
}
