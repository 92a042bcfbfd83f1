const STOPPED = 'main > [data-stopped]';
/** Whether what a stream says of the tenant is not what the page says. */
export function isToldOtherwise(data: string): boolean {
  const { stopped } = JSON.parse(data) as { readonly stopped?: unknown };
  return typeof stopped === 'boolean' && stopped !== (document.querySelector(STOPPED) !== null);
}

/** How many questions there were, and which of them was told of last: an answer to one before it is older. */
const questions = { asked: 0, told: 0 };

/**
 * To be called where a page is asked for. What it returns brings the line that all of the tenant is stopped to what the page that came says,
 * unless a page that was asked for later came before it.
 */
export function stoppedAsked(): (came: Document) => void {
  questions.asked += 1;
  const mine = questions.asked;
  return (came) => {
    if (mine < questions.told) return;
    questions.told = mine;
    const shown = document.querySelector(STOPPED);
    const line = came.querySelector(STOPPED);
    if (!line) return shown?.remove();
    if (shown?.textContent === line.textContent) return;
    // It may be said again by the page that came, which is held.
    const next = document.importNode(line, true);
    next.setAttribute('role', 'alert');
    if (shown) shown.replaceWith(next);
    else document.querySelector('main')?.prepend(next);
  };
}
