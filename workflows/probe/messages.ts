/** The workflow's type. Under another name, open probes would find no code to continue with. */
export const PROBE = 'probe';

/** The id of the workflow that looks whether a call of unknown outcome had its effect; a second start finds the first. */
export const probeIdOf = (correlationId: string): string => `probe/${correlationId}`;
