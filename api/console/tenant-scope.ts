/** What limits a question to a person's tenant; nothing for somebody of all tenants. */
export const tenantHeader = (tenant: string | null): Record<string, string> =>
  tenant === null ? {} : { 'x-gate-tenant-scope': tenant };

/** The same in the query of the ledger's routes. */
export const tenantQuery = (tenant: string | null): Record<string, string> => (tenant === null ? {} : { tenant });
