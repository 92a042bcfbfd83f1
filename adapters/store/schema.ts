/** The Postgres schema of a store, by the store's name. */
export const schemaOf = (store: string): string => `gate_${store}`;
