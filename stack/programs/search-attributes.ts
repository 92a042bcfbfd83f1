/** What operators search by; in clear, so never an argument of a call (docs/architecture/identity-and-routes.md#state). */
export const SEARCH_ATTRIBUTES = ['GateTenant', 'GateAgent', 'GateTool', 'GateTier', 'GateOutcome'] as const;
