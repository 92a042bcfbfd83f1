/** Another call was put in the place of the shown one. */
export const OPENED = 'gate:opened';
/** Rows of the list came: the whole list anew, or more at its end. */
export const CAME = 'gate:list';
