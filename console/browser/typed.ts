import { person } from './anew.js';
import { REASON_FIELD } from './detail.js';
import { OPENED } from './heard.js';

/** Where the tab keeps reasons that were typed and not sent. */
const KEPT = 'gate.typed';
/** Calls that somebody goes back to. */
const MOST = 50;

/**
 * Keeps the reason that was typed for a call while another one is looked at, for that call, that person and this tab alone, until it is sent or
 * somebody signs out.
 */
export function typedStays(): void {
  if (!document.querySelector('.top .who')) return keep([]);
  document.addEventListener('input', ({ target }) => {
    if (target instanceof HTMLInputElement && target.matches(REASON_FIELD)) put(callOf(target), target.value);
  });
  document.addEventListener('submit', ({ target }) => {
    const field = target instanceof HTMLFormElement ? target.querySelector<HTMLInputElement>(REASON_FIELD) : null;
    if (field) put(callOf(field), '');
  });
  document.addEventListener(OPENED, restore);
  restore();
}

/** What a refusal left in the field is newer. */
function restore(): void {
  const field = document.querySelector<HTMLInputElement>(REASON_FIELD);
  if (!field || field.value !== '') return;
  field.value = kept().find(([call]) => call === callOf(field))?.[1] ?? '';
}

const callOf = (field: HTMLElement): string => field.closest<HTMLElement>('[data-review]')?.dataset['review'] ?? '';

function put(call: string, reason: string): void {
  const others = kept().filter(([other]) => other !== call);
  keep(reason === '' ? others : [...others, [call, reason]]);
}

type Reasons = readonly (readonly [call: string, reason: string])[];
interface Kept {
  /** Who typed them: nobody else gives them as his own. */
  readonly by: string;
  readonly reasons: Reasons;
}

function kept(): Reasons {
  try {
    const all = JSON.parse(sessionStorage.getItem(KEPT) ?? 'null') as Kept | null;
    return all?.by === person() ? all.reasons : [];
  } catch {
    return [];
  }
}

function keep(reasons: Reasons): void {
  try {
    if (reasons.length === 0) sessionStorage.removeItem(KEPT);
    else sessionStorage.setItem(KEPT, JSON.stringify({ by: person(), reasons: reasons.slice(-MOST) } satisfies Kept));
  } catch {
    // A browser that keeps nothing.
  }
}
