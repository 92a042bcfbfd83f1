/** Another call was put in the place of the shown one. */
export const OPENED = 'gate:opened';
/** A call that was being opened is not: the shown one stays. */
export const STAYED = 'gate:stayed';
/** What is shown of the call, or a part of it, or newer rows took the place of what was shown. */
export const RENEWED = 'gate:renewed';
/** The shown call was decided or ended by somebody else. */
export const ENDED = 'gate:ended';
/** Rows of the list came: the whole list anew, or more at its end. */
export const CAME = 'gate:list';
