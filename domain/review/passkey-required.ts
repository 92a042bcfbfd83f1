/** Which calls are approved only with a passkey: by everybody, or by whoever has one. */
export const PASSKEY_REQUIRED = ['none', 'registered', 'strict', 'strict-and-registered', 'all'] as const;
export type PasskeyRequired = (typeof PASSKEY_REQUIRED)[number];
/** Whether everybody signs the approval of a call of this tier. */
export const everybodySigns = (required: PasskeyRequired, tier: string | null): boolean =>
  required === 'all' || (tier === 'strict' && (required === 'strict' || required === 'strict-and-registered'));
/** Whether whoever ever registered a passkey signs every approval. */
export const holdersSign = (required: PasskeyRequired): boolean =>
  required === 'registered' || required === 'strict-and-registered';
