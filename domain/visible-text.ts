const NOT_ASCII = /[^\0-\x7f]/;
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu;

/** A text as a person sees it: without invisible characters, full-width and other compatibility forms made plain. */
export const visibleText = (text: string): string =>
  NOT_ASCII.test(text) ? text.normalize('NFKC').replaceAll(INVISIBLE, '') : text;
