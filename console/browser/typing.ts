/** Whether what is pressed goes into a field. */
export const typing = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  // Nobody types into a box that was just ticked.
  !target.matches('input[type="checkbox"]') &&
  (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
