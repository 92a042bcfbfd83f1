import type { KeyAlgorithm } from '../../domain/identity/held-key.js';

/** What the process of a token is asked. */
export type Pkcs11Question = { readonly id: number; readonly object: string } & (
  | { readonly ask: 'find' }
  | { readonly ask: 'make'; readonly algorithm: KeyAlgorithm }
  /** Base64. */
  | { readonly ask: 'sign'; readonly bytes: string }
);
export type Pkcs11Fault = 'pin_refused' | 'absent' | 'ambiguous' | 'unfit' | 'failed';
export type Pkcs11Answer = { readonly id: number } & (
  | { readonly algorithm: KeyAlgorithm; readonly publicKey: string }
  | { readonly signature: string }
  | { readonly fault: Pkcs11Fault; readonly message: string }
);
