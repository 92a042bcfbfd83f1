const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text of a body. Throws for bytes that are no UTF-8: what stands for them would be somebody's words that nobody sent. */
export function utf8Of(body: Uint8Array): string {
  try {
    return UTF8.decode(body);
  } catch {
    throw new TypeError('the body is not UTF-8');
  }
}
