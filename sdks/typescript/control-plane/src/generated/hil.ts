// Made from docs/openapi/hil.json by `npm run types`.
export interface paths {
    "/pending/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `hil.pending.read`. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            /** Format: uuid */
                            correlation_id: string;
                            agent_id: string;
                            agent_spiffe: string | null;
                            rehearsal?: boolean;
                            /** @enum {string} */
                            executed_by?: "agent";
                            delegation?: {
                                /** Format: uuid */
                                jti: string;
                                human_sub: string;
                                idp: string;
                                scope: string[];
                                yellow_scope: string[];
                                max_uses: number | null;
                                not_before: string | null;
                                /** Format: date-time */
                                not_after: string;
                                recurrence_summary: string | null;
                            };
                            method: string;
                            request_payload: {
                                [key: string]: unknown;
                            };
                            risk_summary: string;
                            review_reasons: string[];
                            created_at: string;
                            ttl_seconds: number;
                            /** @enum {string} */
                            status: "pending" | "approved" | "denied" | "expired" | "aborted" | "withdrawn" | "tampered";
                            decided_at: string | null;
                            decided_by: string | null;
                            decision_reason: string | null;
                            decided_via: string | null;
                            assigned_to?: string | null;
                            assigned_by?: string | null;
                            escalation_pool?: string | null;
                            escalation_pool_by?: string | null;
                            escalated_at?: string | null;
                            escalates_at?: string | null;
                            escalated_again_at?: string[];
                            escalates_again_at?: string[];
                            incident_summary?: string | null;
                            incident_by?: string | null;
                            decision_request_id?: string | null;
                            modification_diff?: {
                                /** @enum {string} */
                                contract: "gate.hil.modification-diff/v1";
                                replacements: {
                                    path: string[];
                                    value: string | number | boolean | null;
                                }[];
                            } | null;
                            reviewed_payload_digest?: string | null;
                            candidate_execution_payload_digest?: string | null;
                            approver_provenance: string | null;
                            approver_assertion: {
                                [key: string]: components["schemas"]["Json"];
                            } | null;
                            credential_kind: string | null;
                            original_payload_digest: string;
                            sandbox_report?: ({
                                /** @enum {string} */
                                operation_class: "read" | "write" | "exec" | "network" | "delete" | "unknown";
                                /** @enum {string} */
                                severity: "safe" | "risky" | "destructive";
                            } & {
                                [key: string]: unknown;
                            }) | null;
                            sandbox_report_digest?: string | null;
                            policy_bundle_sha256?: string | null;
                            payload_bytes?: number;
                            approval_tier: string | null;
                            required_approvers?: number;
                            approvals?: {
                                by: string;
                                provenance: string;
                                /** Format: date-time */
                                at: string;
                                reason?: string;
                                /** @enum {boolean} */
                                lapsed?: true;
                                /** @enum {boolean} */
                                unchecked?: true;
                            }[];
                            tenant: string;
                            /** @enum {string} */
                            state_namespace: "operator" | "demo";
                            retention: {
                                [key: string]: unknown;
                            };
                            since_last_call?: {
                                /** Format: uuid */
                                pending_id: string;
                                /** Format: uuid */
                                correlation_id: string;
                                created_at: string;
                                /** @enum {string} */
                                status: "pending" | "approved" | "denied" | "expired" | "aborted" | "withdrawn" | "tampered";
                                decided_at: string | null;
                                decided_by: string | null;
                                modified: boolean;
                                /** @enum {string} */
                                arguments: "same" | "changed" | "purged" | "unavailable" | "too_large";
                                changes: {
                                    path: string;
                                    /** @enum {string} */
                                    kind: "added" | "removed" | "changed";
                                    before?: {
                                        json: string;
                                        characters?: number;
                                        sha256?: string;
                                    };
                                    after?: {
                                        json: string;
                                        characters?: number;
                                        sha256?: string;
                                    };
                                }[];
                                changes_omitted: number;
                            } | null;
                            notifications: {
                                notification_id: string;
                                channel: unknown;
                                /** @enum {string} */
                                state: "queued" | "delivered" | "superseded" | "partial" | "dead";
                                attempts: number;
                                delivered_at: string | null;
                                next_attempt_at: string | null;
                                error: string | null;
                            }[];
                        } & {
                            [key: string]: unknown;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/pending/by-correlation/{correlation_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `hil.pending.read`. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    correlation_id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            /** Format: uuid */
                            correlation_id: string;
                            agent_id: string;
                            agent_spiffe: string | null;
                            rehearsal?: boolean;
                            /** @enum {string} */
                            executed_by?: "agent";
                            delegation?: {
                                /** Format: uuid */
                                jti: string;
                                human_sub: string;
                                idp: string;
                                scope: string[];
                                yellow_scope: string[];
                                max_uses: number | null;
                                not_before: string | null;
                                /** Format: date-time */
                                not_after: string;
                                recurrence_summary: string | null;
                            };
                            method: string;
                            request_payload: {
                                [key: string]: unknown;
                            };
                            risk_summary: string;
                            review_reasons: string[];
                            created_at: string;
                            ttl_seconds: number;
                            /** @enum {string} */
                            status: "pending" | "approved" | "denied" | "expired" | "aborted" | "withdrawn" | "tampered";
                            decided_at: string | null;
                            decided_by: string | null;
                            decision_reason: string | null;
                            decided_via: string | null;
                            assigned_to?: string | null;
                            assigned_by?: string | null;
                            escalation_pool?: string | null;
                            escalation_pool_by?: string | null;
                            escalated_at?: string | null;
                            escalates_at?: string | null;
                            escalated_again_at?: string[];
                            escalates_again_at?: string[];
                            incident_summary?: string | null;
                            incident_by?: string | null;
                            decision_request_id?: string | null;
                            modification_diff?: {
                                /** @enum {string} */
                                contract: "gate.hil.modification-diff/v1";
                                replacements: {
                                    path: string[];
                                    value: string | number | boolean | null;
                                }[];
                            } | null;
                            reviewed_payload_digest?: string | null;
                            candidate_execution_payload_digest?: string | null;
                            approver_provenance: string | null;
                            approver_assertion: {
                                [key: string]: components["schemas"]["Json"];
                            } | null;
                            credential_kind: string | null;
                            original_payload_digest: string;
                            sandbox_report?: ({
                                /** @enum {string} */
                                operation_class: "read" | "write" | "exec" | "network" | "delete" | "unknown";
                                /** @enum {string} */
                                severity: "safe" | "risky" | "destructive";
                            } & {
                                [key: string]: unknown;
                            }) | null;
                            sandbox_report_digest?: string | null;
                            policy_bundle_sha256?: string | null;
                            payload_bytes?: number;
                            approval_tier: string | null;
                            required_approvers?: number;
                            approvals?: {
                                by: string;
                                provenance: string;
                                /** Format: date-time */
                                at: string;
                                reason?: string;
                                /** @enum {boolean} */
                                lapsed?: true;
                                /** @enum {boolean} */
                                unchecked?: true;
                            }[];
                            tenant: string;
                            /** @enum {string} */
                            state_namespace: "operator" | "demo";
                            retention: {
                                [key: string]: unknown;
                            };
                            since_last_call?: {
                                /** Format: uuid */
                                pending_id: string;
                                /** Format: uuid */
                                correlation_id: string;
                                created_at: string;
                                /** @enum {string} */
                                status: "pending" | "approved" | "denied" | "expired" | "aborted" | "withdrawn" | "tampered";
                                decided_at: string | null;
                                decided_by: string | null;
                                modified: boolean;
                                /** @enum {string} */
                                arguments: "same" | "changed" | "purged" | "unavailable" | "too_large";
                                changes: {
                                    path: string;
                                    /** @enum {string} */
                                    kind: "added" | "removed" | "changed";
                                    before?: {
                                        json: string;
                                        characters?: number;
                                        sha256?: string;
                                    };
                                    after?: {
                                        json: string;
                                        characters?: number;
                                        sha256?: string;
                                    };
                                }[];
                                changes_omitted: number;
                            } | null;
                            notifications: {
                                notification_id: string;
                                channel: unknown;
                                /** @enum {string} */
                                state: "queued" | "delivered" | "superseded" | "partial" | "dead";
                                attempts: number;
                                delivered_at: string | null;
                                next_attempt_at: string | null;
                                error: string | null;
                            }[];
                        } & {
                            [key: string]: unknown;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        /** @description Capability `hil.pending.withdraw`. */
        delete: {
            parameters: {
                query?: {
                    attempt_ms?: number;
                };
                header?: never;
                path: {
                    correlation_id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/pending": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `hil.pending.read`. */
        get: {
            parameters: {
                query?: {
                    status?: ("pending" | "approved" | "denied" | "expired" | "aborted" | "withdrawn" | "tampered") | ("parked" | "decided" | "all");
                    limit?: number;
                    before?: string;
                    agent_id?: string;
                    sort?: "newest" | "oldest";
                    id?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": ({
                            /** Format: uuid */
                            id: string;
                            /** Format: uuid */
                            correlation_id: string;
                            agent_id: string;
                            agent_spiffe: string | null;
                            rehearsal?: boolean;
                            /** @enum {string} */
                            executed_by?: "agent";
                            delegation?: {
                                /** Format: uuid */
                                jti: string;
                                human_sub: string;
                                idp: string;
                                scope: string[];
                                yellow_scope: string[];
                                max_uses: number | null;
                                not_before: string | null;
                                /** Format: date-time */
                                not_after: string;
                                recurrence_summary: string | null;
                            };
                            method: string;
                            request_payload: {
                                [key: string]: unknown;
                            };
                            risk_summary: string;
                            review_reasons: string[];
                            created_at: string;
                            ttl_seconds: number;
                            /** @enum {string} */
                            status: "pending" | "approved" | "denied" | "expired" | "aborted" | "withdrawn" | "tampered";
                            decided_at: string | null;
                            decided_by: string | null;
                            decision_reason: string | null;
                            decided_via: string | null;
                            assigned_to?: string | null;
                            assigned_by?: string | null;
                            escalation_pool?: string | null;
                            escalation_pool_by?: string | null;
                            escalated_at?: string | null;
                            escalates_at?: string | null;
                            escalated_again_at?: string[];
                            escalates_again_at?: string[];
                            incident_summary?: string | null;
                            incident_by?: string | null;
                            decision_request_id?: string | null;
                            modification_diff?: {
                                /** @enum {string} */
                                contract: "gate.hil.modification-diff/v1";
                                replacements: {
                                    path: string[];
                                    value: string | number | boolean | null;
                                }[];
                            } | null;
                            reviewed_payload_digest?: string | null;
                            candidate_execution_payload_digest?: string | null;
                            approver_provenance: string | null;
                            approver_assertion: {
                                [key: string]: components["schemas"]["Json"];
                            } | null;
                            credential_kind: string | null;
                            original_payload_digest: string;
                            sandbox_report?: ({
                                /** @enum {string} */
                                operation_class: "read" | "write" | "exec" | "network" | "delete" | "unknown";
                                /** @enum {string} */
                                severity: "safe" | "risky" | "destructive";
                            } & {
                                [key: string]: unknown;
                            }) | null;
                            sandbox_report_digest?: string | null;
                            policy_bundle_sha256?: string | null;
                            payload_bytes?: number;
                            approval_tier: string | null;
                            required_approvers?: number;
                            approvals?: {
                                by: string;
                                provenance: string;
                                /** Format: date-time */
                                at: string;
                                reason?: string;
                                /** @enum {boolean} */
                                lapsed?: true;
                                /** @enum {boolean} */
                                unchecked?: true;
                            }[];
                            tenant: string;
                            /** @enum {string} */
                            state_namespace: "operator" | "demo";
                            retention: {
                                [key: string]: unknown;
                            };
                            since_last_call?: {
                                /** Format: uuid */
                                pending_id: string;
                                /** Format: uuid */
                                correlation_id: string;
                                created_at: string;
                                /** @enum {string} */
                                status: "pending" | "approved" | "denied" | "expired" | "aborted" | "withdrawn" | "tampered";
                                decided_at: string | null;
                                decided_by: string | null;
                                modified: boolean;
                                /** @enum {string} */
                                arguments: "same" | "changed" | "purged" | "unavailable" | "too_large";
                                changes: {
                                    path: string;
                                    /** @enum {string} */
                                    kind: "added" | "removed" | "changed";
                                    before?: {
                                        json: string;
                                        characters?: number;
                                        sha256?: string;
                                    };
                                    after?: {
                                        json: string;
                                        characters?: number;
                                        sha256?: string;
                                    };
                                }[];
                                changes_omitted: number;
                            } | null;
                        } & {
                            [key: string]: unknown;
                        })[];
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        /** @description Capability `hil.pending.create`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        agent_id: string;
                        /** Format: uuid */
                        correlation_id: string;
                        method: string;
                        request_payload: {
                            [key: string]: unknown;
                        };
                        risk_summary: string;
                        state_namespace?: string;
                        ttl_seconds?: number;
                        /** Format: date-time */
                        created_at?: string;
                        attempt_ms?: number;
                        /** @default [] */
                        review_reasons?: string[];
                        brain_scores?: {
                            [key: string]: components["schemas"]["JsonInput"];
                        } | null;
                        sandbox_report?: {
                            /** @enum {string} */
                            contract: "gate.sandbox-report/v1";
                            analyzer_version: string;
                            analyzed: boolean;
                            /** @enum {string} */
                            operation_class: "read" | "write" | "exec" | "network" | "delete" | "unknown";
                            /** @enum {string} */
                            severity: "safe" | "risky" | "destructive";
                            /** @enum {string} */
                            reversible: "yes" | "no" | "unknown";
                            summary: string;
                            reasons: string[];
                            targets: string[];
                            predicted_changes: {
                                /** @enum {string} */
                                kind: "read" | "create" | "modify" | "delete" | "execute" | "send";
                                target: string;
                            }[];
                            scope: {
                                targets: number;
                                wildcards: boolean;
                                recursive: boolean;
                            };
                            money: {
                                amount: string | null;
                                currency: string | null;
                                payee: string | null;
                            } | null;
                        } | null;
                        projected_cost_micros?: number | null;
                        approval_tier?: string | null;
                        policy_bundle_sha256?: string | null;
                        agent_spiffe?: string | null;
                        executed_by?: "agent" | null;
                        delegation?: {
                            /** Format: uuid */
                            jti: string;
                            human_sub: string;
                            idp: string;
                            scope: string[];
                            yellow_scope: string[];
                            max_uses: number | null;
                            not_before: string | null;
                            /** Format: date-time */
                            not_after: string;
                            recurrence_summary: string | null;
                        } | null;
                        tenant?: string;
                        callback_url?: string | null;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            /** Format: uuid */
                            correlation_id: string;
                            agent_id: string;
                            agent_spiffe: string | null;
                            rehearsal?: boolean;
                            /** @enum {string} */
                            executed_by?: "agent";
                            delegation?: {
                                /** Format: uuid */
                                jti: string;
                                human_sub: string;
                                idp: string;
                                scope: string[];
                                yellow_scope: string[];
                                max_uses: number | null;
                                not_before: string | null;
                                /** Format: date-time */
                                not_after: string;
                                recurrence_summary: string | null;
                            };
                            method: string;
                            request_payload: {
                                [key: string]: unknown;
                            };
                            risk_summary: string;
                            review_reasons: string[];
                            created_at: string;
                            ttl_seconds: number;
                            /** @enum {string} */
                            status: "pending" | "approved" | "denied" | "expired" | "aborted" | "withdrawn" | "tampered";
                            decided_at: string | null;
                            decided_by: string | null;
                            decision_reason: string | null;
                            decided_via: string | null;
                            assigned_to?: string | null;
                            assigned_by?: string | null;
                            escalation_pool?: string | null;
                            escalation_pool_by?: string | null;
                            escalated_at?: string | null;
                            escalates_at?: string | null;
                            escalated_again_at?: string[];
                            escalates_again_at?: string[];
                            incident_summary?: string | null;
                            incident_by?: string | null;
                            decision_request_id?: string | null;
                            modification_diff?: {
                                /** @enum {string} */
                                contract: "gate.hil.modification-diff/v1";
                                replacements: {
                                    path: string[];
                                    value: string | number | boolean | null;
                                }[];
                            } | null;
                            reviewed_payload_digest?: string | null;
                            candidate_execution_payload_digest?: string | null;
                            approver_provenance: string | null;
                            approver_assertion: {
                                [key: string]: components["schemas"]["Json"];
                            } | null;
                            credential_kind: string | null;
                            original_payload_digest: string;
                            sandbox_report?: ({
                                /** @enum {string} */
                                operation_class: "read" | "write" | "exec" | "network" | "delete" | "unknown";
                                /** @enum {string} */
                                severity: "safe" | "risky" | "destructive";
                            } & {
                                [key: string]: unknown;
                            }) | null;
                            sandbox_report_digest?: string | null;
                            policy_bundle_sha256?: string | null;
                            payload_bytes?: number;
                            approval_tier: string | null;
                            required_approvers?: number;
                            approvals?: {
                                by: string;
                                provenance: string;
                                /** Format: date-time */
                                at: string;
                                reason?: string;
                                /** @enum {boolean} */
                                lapsed?: true;
                                /** @enum {boolean} */
                                unchecked?: true;
                            }[];
                            tenant: string;
                            /** @enum {string} */
                            state_namespace: "operator" | "demo";
                            retention: {
                                [key: string]: unknown;
                            };
                            since_last_call?: {
                                /** Format: uuid */
                                pending_id: string;
                                /** Format: uuid */
                                correlation_id: string;
                                created_at: string;
                                /** @enum {string} */
                                status: "pending" | "approved" | "denied" | "expired" | "aborted" | "withdrawn" | "tampered";
                                decided_at: string | null;
                                decided_by: string | null;
                                modified: boolean;
                                /** @enum {string} */
                                arguments: "same" | "changed" | "purged" | "unavailable" | "too_large";
                                changes: {
                                    path: string;
                                    /** @enum {string} */
                                    kind: "added" | "removed" | "changed";
                                    before?: {
                                        json: string;
                                        characters?: number;
                                        sha256?: string;
                                    };
                                    after?: {
                                        json: string;
                                        characters?: number;
                                        sha256?: string;
                                    };
                                }[];
                                changes_omitted: number;
                            } | null;
                        } & {
                            [key: string]: unknown;
                        };
                    };
                };
                /** @description Default Response */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            /** Format: uuid */
                            correlation_id: string;
                            agent_id: string;
                            agent_spiffe: string | null;
                            rehearsal?: boolean;
                            /** @enum {string} */
                            executed_by?: "agent";
                            delegation?: {
                                /** Format: uuid */
                                jti: string;
                                human_sub: string;
                                idp: string;
                                scope: string[];
                                yellow_scope: string[];
                                max_uses: number | null;
                                not_before: string | null;
                                /** Format: date-time */
                                not_after: string;
                                recurrence_summary: string | null;
                            };
                            method: string;
                            request_payload: {
                                [key: string]: unknown;
                            };
                            risk_summary: string;
                            review_reasons: string[];
                            created_at: string;
                            ttl_seconds: number;
                            /** @enum {string} */
                            status: "pending" | "approved" | "denied" | "expired" | "aborted" | "withdrawn" | "tampered";
                            decided_at: string | null;
                            decided_by: string | null;
                            decision_reason: string | null;
                            decided_via: string | null;
                            assigned_to?: string | null;
                            assigned_by?: string | null;
                            escalation_pool?: string | null;
                            escalation_pool_by?: string | null;
                            escalated_at?: string | null;
                            escalates_at?: string | null;
                            escalated_again_at?: string[];
                            escalates_again_at?: string[];
                            incident_summary?: string | null;
                            incident_by?: string | null;
                            decision_request_id?: string | null;
                            modification_diff?: {
                                /** @enum {string} */
                                contract: "gate.hil.modification-diff/v1";
                                replacements: {
                                    path: string[];
                                    value: string | number | boolean | null;
                                }[];
                            } | null;
                            reviewed_payload_digest?: string | null;
                            candidate_execution_payload_digest?: string | null;
                            approver_provenance: string | null;
                            approver_assertion: {
                                [key: string]: components["schemas"]["Json"];
                            } | null;
                            credential_kind: string | null;
                            original_payload_digest: string;
                            sandbox_report?: ({
                                /** @enum {string} */
                                operation_class: "read" | "write" | "exec" | "network" | "delete" | "unknown";
                                /** @enum {string} */
                                severity: "safe" | "risky" | "destructive";
                            } & {
                                [key: string]: unknown;
                            }) | null;
                            sandbox_report_digest?: string | null;
                            policy_bundle_sha256?: string | null;
                            payload_bytes?: number;
                            approval_tier: string | null;
                            required_approvers?: number;
                            approvals?: {
                                by: string;
                                provenance: string;
                                /** Format: date-time */
                                at: string;
                                reason?: string;
                                /** @enum {boolean} */
                                lapsed?: true;
                                /** @enum {boolean} */
                                unchecked?: true;
                            }[];
                            tenant: string;
                            /** @enum {string} */
                            state_namespace: "operator" | "demo";
                            retention: {
                                [key: string]: unknown;
                            };
                            since_last_call?: {
                                /** Format: uuid */
                                pending_id: string;
                                /** Format: uuid */
                                correlation_id: string;
                                created_at: string;
                                /** @enum {string} */
                                status: "pending" | "approved" | "denied" | "expired" | "aborted" | "withdrawn" | "tampered";
                                decided_at: string | null;
                                decided_by: string | null;
                                modified: boolean;
                                /** @enum {string} */
                                arguments: "same" | "changed" | "purged" | "unavailable" | "too_large";
                                changes: {
                                    path: string;
                                    /** @enum {string} */
                                    kind: "added" | "removed" | "changed";
                                    before?: {
                                        json: string;
                                        characters?: number;
                                        sha256?: string;
                                    };
                                    after?: {
                                        json: string;
                                        characters?: number;
                                        sha256?: string;
                                    };
                                }[];
                                changes_omitted: number;
                            } | null;
                        } & {
                            [key: string]: unknown;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/people/standing": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `hil.decision.execute`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            subject: string;
                            /** @enum {string} */
                            role: "none" | "viewer" | "approver" | "admin";
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orchestrator": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `hil.pending.read`. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            available: boolean;
                            reason: string | null;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/tenants/{tenant}/lifecycle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `hil.tenant.read`. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    tenant: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            tenant: string;
                            /** @enum {string} */
                            state: "active" | "offboarded";
                            operations: {
                                operation_id: string;
                                /** @enum {string} */
                                kind: "provision" | "offboard";
                                generation: number;
                                asked_by: string;
                                /** Format: date-time */
                                begun_at: string;
                                receipt: {
                                    tenant: string;
                                    operation_id: string;
                                    /** @enum {string} */
                                    kind: "provision" | "offboard";
                                    /** @enum {string} */
                                    state: "active" | "offboarded";
                                    generation: number;
                                    pending_denied: number;
                                    rows_erased: number;
                                    rows_held: number;
                                    receipt_sha256: string;
                                    /** Format: date-time */
                                    updated_at: string;
                                } | null;
                            }[];
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        /** @description Capability `hil.tenant.lifecycle`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    tenant: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        /** Format: lowercase */
                        operation_id: string & (unknown & unknown);
                        /** @enum {string} */
                        kind: "provision" | "offboard";
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            tenant: string;
                            operation_id: string;
                            /** @enum {string} */
                            kind: "provision" | "offboard";
                            /** @enum {string} */
                            state: "active" | "offboarded";
                            generation: number;
                            pending_denied: number;
                            rows_erased: number;
                            rows_held: number;
                            receipt_sha256: string;
                            /** Format: date-time */
                            updated_at: string;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tenant-steps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `hil.tenant.lifecycle`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        /** @enum {string} */
                        owner: "identity" | "policy-engine" | "hil" | "proxy" | "ledger" | "platform";
                        tenant: string;
                        /** Format: uuid */
                        operation_id: string;
                        /** @enum {string} */
                        kind: "provision" | "offboard";
                        /** @enum {string} */
                        step_id: "tenant_record" | "credential_keys" | "policy_namespace" | "hil_namespace" | "cache_generation" | "ledger_lifecycle_marker" | "authority_fence" | "ledger_final_export" | "ledger_tombstone" | "retained_backup_disposition";
                        asked_by: string;
                        /** Format: date-time */
                        not_after: string;
                        signature: {
                            /** @enum {string} */
                            algorithm: "ES256";
                            key_id: string;
                            value: string;
                        };
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            tenant: string;
                            operation_id: string;
                            /** @enum {string} */
                            kind: "provision" | "offboard";
                            /** @enum {string} */
                            state: "active" | "offboarded";
                            generation: number;
                            pending_denied: number;
                            rows_erased: number;
                            rows_held: number;
                            receipt_sha256: string;
                            /** Format: date-time */
                            updated_at: string;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/namespaces/demo/cleanup": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `hil.namespace.cleanup`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": Record<string, never> | null;
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** @enum {string} */
                            contract: "gate.namespace-cleanup-receipt/v1";
                            /** @enum {string} */
                            namespace: "demo";
                            selected: number;
                            deleted: number;
                            retained_operator: number;
                            retained_legal_hold: number;
                            /** Format: date-time */
                            completed_at: string;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/pending/{id}/rule-decision": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `hil.pending.settle`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            decision: {
                                /** Format: uuid */
                                pending_id: string;
                                /** Format: uuid */
                                correlation_id: string;
                                action_digest: string;
                                /** @enum {string} */
                                decision: "approve" | "deny" | "modify";
                                modification?: {
                                    diff: {
                                        /** @enum {string} */
                                        contract: "gate.hil.modification-diff/v1";
                                        replacements: {
                                            path: string[];
                                            value: string | number | boolean | null;
                                        }[];
                                    };
                                    reviewed_digest: string;
                                };
                                approvable_effects?: ("safe" | "risky" | "destructive")[];
                                reason: string | null;
                                decided_via: string | null;
                                principal: {
                                    subject: string;
                                    tenant: string;
                                    method: string;
                                    credential: string;
                                    credential_kind: ("console-bearer" | "session-cookie") | null;
                                };
                                /** Format: date-time */
                                decided_at: string;
                                /** Format: date-time */
                                not_after: string;
                                request_id: string;
                                standing_approvers?: string[];
                                approval?: {
                                    statement: {
                                        /** @enum {string} */
                                        contract: "gate.approval/v1";
                                        /** @enum {string} */
                                        decision: "approve" | "deny" | "modify";
                                        /** Format: uuid */
                                        pending_id: string;
                                        /** Format: uuid */
                                        correlation_id: string;
                                        tenant: string;
                                        approver: string;
                                        payload_digest: string;
                                        policy_bundle_sha256: string | null;
                                        sandbox_report_digest: string | null;
                                        row_digest: string;
                                        required_approvers?: number;
                                        agent_id?: string;
                                        tool?: string;
                                        tool_params_sha256?: string;
                                        original_payload_digest?: string;
                                        modification_diff_digest?: string;
                                    };
                                    passkey: {
                                        /** Format: base64url */
                                        credential_id: string;
                                        /** Format: base64url */
                                        public_key: string;
                                        rp_id: string;
                                        /** Format: base64url */
                                        authenticator_data: string;
                                        /** Format: base64url */
                                        client_data_json: string;
                                        /** Format: base64url */
                                        signature: string;
                                    };
                                };
                                signature: string;
                            } | null;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/pending/{id}/opened-change": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `hil.pending.settle`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        /** Format: byte */
                        sealed_diff: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            diff: {
                                /** @enum {string} */
                                contract: "gate.hil.modification-diff/v1";
                                replacements: {
                                    path: string[];
                                    value: string | number | boolean | null;
                                }[];
                            };
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/undecided": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `hil.pending.settle`. */
        get: {
            parameters: {
                query: {
                    after_ms: number;
                    after_id: "" | string;
                    limit: number;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            rows: {
                                /** Format: uuid */
                                id: string;
                                /** Format: uuid */
                                correlation_id: string;
                                ms: number;
                            }[];
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/pending/{id}/escalated": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `hil.pending.settle`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        /** Format: date-time */
                        escalated_at: string;
                        escalated_again_at?: string[];
                    };
                };
            };
            responses: {
                /** @description Default Response */
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tenants/{tenant}/standing": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `hil.pending.settle`. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    tenant: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/pending/{id}/settle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `hil.pending.settle`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        /** Format: uuid */
                        pending_id: string;
                        /** @enum {string} */
                        status: "approved" | "denied" | "expired" | "aborted";
                        /** Format: date-time */
                        decided_at: string;
                        decided_by: string;
                        decision_reason: string | null;
                        decided_via: string | null;
                        principal: {
                            subject: string;
                            tenant: string;
                            method: string;
                            credential: string;
                            credential_kind: ("console-bearer" | "session-cookie") | null;
                        } | null;
                        request_id?: string;
                        approvals?: {
                            by: string;
                            provenance: string;
                            /** Format: date-time */
                            at: string;
                            reason?: string;
                        }[];
                        modification?: {
                            diff: {
                                /** @enum {string} */
                                contract: "gate.hil.modification-diff/v1";
                                replacements: {
                                    path: string[];
                                    value: string | number | boolean | null;
                                }[];
                            };
                            reviewed_digest: string;
                        };
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            /** Format: uuid */
                            correlation_id: string;
                            agent_id: string;
                            agent_spiffe: string | null;
                            rehearsal?: boolean;
                            /** @enum {string} */
                            executed_by?: "agent";
                            delegation?: {
                                /** Format: uuid */
                                jti: string;
                                human_sub: string;
                                idp: string;
                                scope: string[];
                                yellow_scope: string[];
                                max_uses: number | null;
                                not_before: string | null;
                                /** Format: date-time */
                                not_after: string;
                                recurrence_summary: string | null;
                            };
                            method: string;
                            request_payload: {
                                [key: string]: unknown;
                            };
                            risk_summary: string;
                            review_reasons: string[];
                            created_at: string;
                            ttl_seconds: number;
                            /** @enum {string} */
                            status: "pending" | "approved" | "denied" | "expired" | "aborted" | "withdrawn" | "tampered";
                            decided_at: string | null;
                            decided_by: string | null;
                            decision_reason: string | null;
                            decided_via: string | null;
                            assigned_to?: string | null;
                            assigned_by?: string | null;
                            escalation_pool?: string | null;
                            escalation_pool_by?: string | null;
                            escalated_at?: string | null;
                            escalates_at?: string | null;
                            escalated_again_at?: string[];
                            escalates_again_at?: string[];
                            incident_summary?: string | null;
                            incident_by?: string | null;
                            decision_request_id?: string | null;
                            modification_diff?: {
                                /** @enum {string} */
                                contract: "gate.hil.modification-diff/v1";
                                replacements: {
                                    path: string[];
                                    value: string | number | boolean | null;
                                }[];
                            } | null;
                            reviewed_payload_digest?: string | null;
                            candidate_execution_payload_digest?: string | null;
                            approver_provenance: string | null;
                            approver_assertion: {
                                [key: string]: components["schemas"]["Json"];
                            } | null;
                            credential_kind: string | null;
                            original_payload_digest: string;
                            sandbox_report?: ({
                                /** @enum {string} */
                                operation_class: "read" | "write" | "exec" | "network" | "delete" | "unknown";
                                /** @enum {string} */
                                severity: "safe" | "risky" | "destructive";
                            } & {
                                [key: string]: unknown;
                            }) | null;
                            sandbox_report_digest?: string | null;
                            policy_bundle_sha256?: string | null;
                            payload_bytes?: number;
                            approval_tier: string | null;
                            required_approvers?: number;
                            approvals?: {
                                by: string;
                                provenance: string;
                                /** Format: date-time */
                                at: string;
                                reason?: string;
                                /** @enum {boolean} */
                                lapsed?: true;
                                /** @enum {boolean} */
                                unchecked?: true;
                            }[];
                            tenant: string;
                            /** @enum {string} */
                            state_namespace: "operator" | "demo";
                            retention: {
                                [key: string]: unknown;
                            };
                            since_last_call?: {
                                /** Format: uuid */
                                pending_id: string;
                                /** Format: uuid */
                                correlation_id: string;
                                created_at: string;
                                /** @enum {string} */
                                status: "pending" | "approved" | "denied" | "expired" | "aborted" | "withdrawn" | "tampered";
                                decided_at: string | null;
                                decided_by: string | null;
                                modified: boolean;
                                /** @enum {string} */
                                arguments: "same" | "changed" | "purged" | "unavailable" | "too_large";
                                changes: {
                                    path: string;
                                    /** @enum {string} */
                                    kind: "added" | "removed" | "changed";
                                    before?: {
                                        json: string;
                                        characters?: number;
                                        sha256?: string;
                                    };
                                    after?: {
                                        json: string;
                                        characters?: number;
                                        sha256?: string;
                                    };
                                }[];
                                changes_omitted: number;
                            } | null;
                        } & {
                            [key: string]: unknown;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/pending/by-correlation/{correlation_id}/withdrawal": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `hil.pending.withdraw`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    correlation_id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        tenant: string;
                        agent_id: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/pending/summaries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `hil.pending.read`. */
        get: {
            parameters: {
                query?: {
                    status?: "pending" | "approved" | "denied" | "expired" | "aborted" | "withdrawn";
                    limit?: number;
                    cursor?: string;
                    q?: string;
                    risk_tier?: "safe" | "risky" | "destructive" | "unscored";
                    masked?: "true";
                    sort?: "newest" | "oldest";
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            items: {
                                /** Format: uuid */
                                id: string;
                                /** Format: uuid */
                                correlation_id: string;
                                agent_id: string;
                                /** @default false */
                                rehearsal: boolean;
                                method: string;
                                tool: string;
                                risk_summary: string;
                                /** @enum {string} */
                                status: "pending" | "approved" | "denied" | "expired" | "aborted" | "withdrawn" | "tampered";
                                created_at: string;
                                ttl_seconds: number;
                                expires_at: string;
                                approval_tier: string | null;
                                required_approvers: number;
                                approvals_count: number;
                                assigned_to: string | null;
                                escalation_pool: string | null;
                                escalated_at: string | null;
                                severity: ("safe" | "risky" | "destructive") | null;
                                operation_class: ("read" | "write" | "exec" | "network" | "delete" | "unknown") | null;
                                predicted: string | null;
                                projected_cost_micros: number | null;
                                decided_at: string | null;
                                decided_by: string | null;
                                decided_via: string | null;
                                tenant: string;
                                /** @enum {string} */
                                state_namespace: "operator" | "demo";
                            }[];
                            next_cursor: string | null;
                            /** @default null */
                            searched_to: string | null;
                            pending_count: number;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/approvals/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `hil.pending.read`. */
        get: {
            parameters: {
                query?: {
                    window?: "1h" | "6h" | "24h" | "7d";
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** @enum {string} */
                            window: "1h" | "6h" | "24h" | "7d";
                            pending_count: number;
                            oldest_pending_secs: number | null;
                            total_decided: number;
                            approved: number;
                            modified: number;
                            denied: number;
                            modified_then_denied: number;
                            expired: number;
                            aborted: number;
                            withdrawn: number;
                            deny_rate: number | null;
                            median_time_to_decide_secs: number | null;
                            p95_time_to_decide_secs: number | null;
                            times_within: number;
                            by_approver: {
                                decided_by: string;
                                count: number;
                                approved: number;
                                denied: number;
                                modified: number;
                                modified_then_denied: number;
                                deny_rate: number | null;
                                median_secs: number | null;
                            }[];
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/pending/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `hil.pending.read`. */
        get: {
            parameters: {
                query?: never;
                header?: {
                    "last-event-id"?: string;
                };
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/event-stream": {
                            id?: string;
                            event?: string;
                            data?: string;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/pending/{id}/assign": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `hil.pending.manage`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        assigned_to?: string | null;
                        escalation_pool?: string | null;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            /** Format: uuid */
                            correlation_id: string;
                            agent_id: string;
                            agent_spiffe: string | null;
                            rehearsal?: boolean;
                            /** @enum {string} */
                            executed_by?: "agent";
                            delegation?: {
                                /** Format: uuid */
                                jti: string;
                                human_sub: string;
                                idp: string;
                                scope: string[];
                                yellow_scope: string[];
                                max_uses: number | null;
                                not_before: string | null;
                                /** Format: date-time */
                                not_after: string;
                                recurrence_summary: string | null;
                            };
                            method: string;
                            request_payload: {
                                [key: string]: unknown;
                            };
                            risk_summary: string;
                            review_reasons: string[];
                            created_at: string;
                            ttl_seconds: number;
                            /** @enum {string} */
                            status: "pending" | "approved" | "denied" | "expired" | "aborted" | "withdrawn" | "tampered";
                            decided_at: string | null;
                            decided_by: string | null;
                            decision_reason: string | null;
                            decided_via: string | null;
                            assigned_to?: string | null;
                            assigned_by?: string | null;
                            escalation_pool?: string | null;
                            escalation_pool_by?: string | null;
                            escalated_at?: string | null;
                            escalates_at?: string | null;
                            escalated_again_at?: string[];
                            escalates_again_at?: string[];
                            incident_summary?: string | null;
                            incident_by?: string | null;
                            decision_request_id?: string | null;
                            modification_diff?: {
                                /** @enum {string} */
                                contract: "gate.hil.modification-diff/v1";
                                replacements: {
                                    path: string[];
                                    value: string | number | boolean | null;
                                }[];
                            } | null;
                            reviewed_payload_digest?: string | null;
                            candidate_execution_payload_digest?: string | null;
                            approver_provenance: string | null;
                            approver_assertion: {
                                [key: string]: components["schemas"]["Json"];
                            } | null;
                            credential_kind: string | null;
                            original_payload_digest: string;
                            sandbox_report?: ({
                                /** @enum {string} */
                                operation_class: "read" | "write" | "exec" | "network" | "delete" | "unknown";
                                /** @enum {string} */
                                severity: "safe" | "risky" | "destructive";
                            } & {
                                [key: string]: unknown;
                            }) | null;
                            sandbox_report_digest?: string | null;
                            policy_bundle_sha256?: string | null;
                            payload_bytes?: number;
                            approval_tier: string | null;
                            required_approvers?: number;
                            approvals?: {
                                by: string;
                                provenance: string;
                                /** Format: date-time */
                                at: string;
                                reason?: string;
                                /** @enum {boolean} */
                                lapsed?: true;
                                /** @enum {boolean} */
                                unchecked?: true;
                            }[];
                            tenant: string;
                            /** @enum {string} */
                            state_namespace: "operator" | "demo";
                            retention: {
                                [key: string]: unknown;
                            };
                            since_last_call?: {
                                /** Format: uuid */
                                pending_id: string;
                                /** Format: uuid */
                                correlation_id: string;
                                created_at: string;
                                /** @enum {string} */
                                status: "pending" | "approved" | "denied" | "expired" | "aborted" | "withdrawn" | "tampered";
                                decided_at: string | null;
                                decided_by: string | null;
                                modified: boolean;
                                /** @enum {string} */
                                arguments: "same" | "changed" | "purged" | "unavailable" | "too_large";
                                changes: {
                                    path: string;
                                    /** @enum {string} */
                                    kind: "added" | "removed" | "changed";
                                    before?: {
                                        json: string;
                                        characters?: number;
                                        sha256?: string;
                                    };
                                    after?: {
                                        json: string;
                                        characters?: number;
                                        sha256?: string;
                                    };
                                }[];
                                changes_omitted: number;
                            } | null;
                        } & {
                            [key: string]: unknown;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/pending/{id}/incident": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** @description Capability `hil.pending.manage`. */
        patch: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        incident_summary: string;
                        expected_summary?: string | null;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            /** Format: uuid */
                            correlation_id: string;
                            agent_id: string;
                            agent_spiffe: string | null;
                            rehearsal?: boolean;
                            /** @enum {string} */
                            executed_by?: "agent";
                            delegation?: {
                                /** Format: uuid */
                                jti: string;
                                human_sub: string;
                                idp: string;
                                scope: string[];
                                yellow_scope: string[];
                                max_uses: number | null;
                                not_before: string | null;
                                /** Format: date-time */
                                not_after: string;
                                recurrence_summary: string | null;
                            };
                            method: string;
                            request_payload: {
                                [key: string]: unknown;
                            };
                            risk_summary: string;
                            review_reasons: string[];
                            created_at: string;
                            ttl_seconds: number;
                            /** @enum {string} */
                            status: "pending" | "approved" | "denied" | "expired" | "aborted" | "withdrawn" | "tampered";
                            decided_at: string | null;
                            decided_by: string | null;
                            decision_reason: string | null;
                            decided_via: string | null;
                            assigned_to?: string | null;
                            assigned_by?: string | null;
                            escalation_pool?: string | null;
                            escalation_pool_by?: string | null;
                            escalated_at?: string | null;
                            escalates_at?: string | null;
                            escalated_again_at?: string[];
                            escalates_again_at?: string[];
                            incident_summary?: string | null;
                            incident_by?: string | null;
                            decision_request_id?: string | null;
                            modification_diff?: {
                                /** @enum {string} */
                                contract: "gate.hil.modification-diff/v1";
                                replacements: {
                                    path: string[];
                                    value: string | number | boolean | null;
                                }[];
                            } | null;
                            reviewed_payload_digest?: string | null;
                            candidate_execution_payload_digest?: string | null;
                            approver_provenance: string | null;
                            approver_assertion: {
                                [key: string]: components["schemas"]["Json"];
                            } | null;
                            credential_kind: string | null;
                            original_payload_digest: string;
                            sandbox_report?: ({
                                /** @enum {string} */
                                operation_class: "read" | "write" | "exec" | "network" | "delete" | "unknown";
                                /** @enum {string} */
                                severity: "safe" | "risky" | "destructive";
                            } & {
                                [key: string]: unknown;
                            }) | null;
                            sandbox_report_digest?: string | null;
                            policy_bundle_sha256?: string | null;
                            payload_bytes?: number;
                            approval_tier: string | null;
                            required_approvers?: number;
                            approvals?: {
                                by: string;
                                provenance: string;
                                /** Format: date-time */
                                at: string;
                                reason?: string;
                                /** @enum {boolean} */
                                lapsed?: true;
                                /** @enum {boolean} */
                                unchecked?: true;
                            }[];
                            tenant: string;
                            /** @enum {string} */
                            state_namespace: "operator" | "demo";
                            retention: {
                                [key: string]: unknown;
                            };
                            since_last_call?: {
                                /** Format: uuid */
                                pending_id: string;
                                /** Format: uuid */
                                correlation_id: string;
                                created_at: string;
                                /** @enum {string} */
                                status: "pending" | "approved" | "denied" | "expired" | "aborted" | "withdrawn" | "tampered";
                                decided_at: string | null;
                                decided_by: string | null;
                                modified: boolean;
                                /** @enum {string} */
                                arguments: "same" | "changed" | "purged" | "unavailable" | "too_large";
                                changes: {
                                    path: string;
                                    /** @enum {string} */
                                    kind: "added" | "removed" | "changed";
                                    before?: {
                                        json: string;
                                        characters?: number;
                                        sha256?: string;
                                    };
                                    after?: {
                                        json: string;
                                        characters?: number;
                                        sha256?: string;
                                    };
                                }[];
                                changes_omitted: number;
                            } | null;
                        } & {
                            [key: string]: unknown;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        trace?: never;
    };
    "/admin/pending/{id}/legal-hold": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `hil.retention.manage`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        /** Format: uuid */
                        operation_id: string;
                        /** @enum {string} */
                        action: "apply" | "release";
                        /** Format: uuid */
                        hold_id: string;
                        authority_reason_sha256: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** @enum {string} */
                            contract: "gate.hil-legal-hold/v1";
                            operation_id: string;
                            /** @enum {string} */
                            action: "apply" | "release";
                            hold_id: string;
                            /** @enum {string} */
                            state: "held" | "released";
                            /** @enum {string} */
                            deletion_disposition: "retained" | "deferred" | "deleted";
                            updated_at: string;
                            receipt_sha256: string;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/decide/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `hil.decision.execute`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        /** @enum {string} */
                        decision: "approve" | "deny" | "modify";
                        decided_by?: string;
                        reason?: string | null;
                        modification_diff?: {
                            [key: string]: components["schemas"]["JsonInput"];
                        } | null;
                        modified_payload?: components["schemas"]["JsonInput"];
                        approver_assertion?: components["schemas"]["JsonInput"];
                        decided_via?: string | null;
                        tenant?: string | null;
                        action_digest?: string;
                        passkey?: {
                            /** Format: base64url */
                            id: string;
                            /** Format: base64url */
                            rawId: string;
                            /** @enum {string} */
                            type: "public-key";
                            response: {
                                /** Format: base64url */
                                clientDataJSON: string;
                                /** Format: base64url */
                                authenticatorData: string;
                                /** Format: base64url */
                                signature: string;
                            };
                        };
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            /** Format: uuid */
                            correlation_id: string;
                            agent_id: string;
                            agent_spiffe: string | null;
                            rehearsal?: boolean;
                            /** @enum {string} */
                            executed_by?: "agent";
                            delegation?: {
                                /** Format: uuid */
                                jti: string;
                                human_sub: string;
                                idp: string;
                                scope: string[];
                                yellow_scope: string[];
                                max_uses: number | null;
                                not_before: string | null;
                                /** Format: date-time */
                                not_after: string;
                                recurrence_summary: string | null;
                            };
                            method: string;
                            request_payload: {
                                [key: string]: unknown;
                            };
                            risk_summary: string;
                            review_reasons: string[];
                            created_at: string;
                            ttl_seconds: number;
                            /** @enum {string} */
                            status: "pending" | "approved" | "denied" | "expired" | "aborted" | "withdrawn" | "tampered";
                            decided_at: string | null;
                            decided_by: string | null;
                            decision_reason: string | null;
                            decided_via: string | null;
                            assigned_to?: string | null;
                            assigned_by?: string | null;
                            escalation_pool?: string | null;
                            escalation_pool_by?: string | null;
                            escalated_at?: string | null;
                            escalates_at?: string | null;
                            escalated_again_at?: string[];
                            escalates_again_at?: string[];
                            incident_summary?: string | null;
                            incident_by?: string | null;
                            decision_request_id?: string | null;
                            modification_diff?: {
                                /** @enum {string} */
                                contract: "gate.hil.modification-diff/v1";
                                replacements: {
                                    path: string[];
                                    value: string | number | boolean | null;
                                }[];
                            } | null;
                            reviewed_payload_digest?: string | null;
                            candidate_execution_payload_digest?: string | null;
                            approver_provenance: string | null;
                            approver_assertion: {
                                [key: string]: components["schemas"]["Json"];
                            } | null;
                            credential_kind: string | null;
                            original_payload_digest: string;
                            sandbox_report?: ({
                                /** @enum {string} */
                                operation_class: "read" | "write" | "exec" | "network" | "delete" | "unknown";
                                /** @enum {string} */
                                severity: "safe" | "risky" | "destructive";
                            } & {
                                [key: string]: unknown;
                            }) | null;
                            sandbox_report_digest?: string | null;
                            policy_bundle_sha256?: string | null;
                            payload_bytes?: number;
                            approval_tier: string | null;
                            required_approvers?: number;
                            approvals?: {
                                by: string;
                                provenance: string;
                                /** Format: date-time */
                                at: string;
                                reason?: string;
                                /** @enum {boolean} */
                                lapsed?: true;
                                /** @enum {boolean} */
                                unchecked?: true;
                            }[];
                            tenant: string;
                            /** @enum {string} */
                            state_namespace: "operator" | "demo";
                            retention: {
                                [key: string]: unknown;
                            };
                            since_last_call?: {
                                /** Format: uuid */
                                pending_id: string;
                                /** Format: uuid */
                                correlation_id: string;
                                created_at: string;
                                /** @enum {string} */
                                status: "pending" | "approved" | "denied" | "expired" | "aborted" | "withdrawn" | "tampered";
                                decided_at: string | null;
                                decided_by: string | null;
                                modified: boolean;
                                /** @enum {string} */
                                arguments: "same" | "changed" | "purged" | "unavailable" | "too_large";
                                changes: {
                                    path: string;
                                    /** @enum {string} */
                                    kind: "added" | "removed" | "changed";
                                    before?: {
                                        json: string;
                                        characters?: number;
                                        sha256?: string;
                                    };
                                    after?: {
                                        json: string;
                                        characters?: number;
                                        sha256?: string;
                                    };
                                }[];
                                changes_omitted: number;
                            } | null;
                        } & {
                            [key: string]: unknown;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/register/start": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `hil.auth.ceremony`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        display_name?: string;
                        recovery_token?: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            publicKey: {
                                [key: string]: components["schemas"]["Json"];
                            };
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/register/finish": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `hil.auth.ceremony`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        /** Format: base64url */
                        id: string;
                        /** Format: base64url */
                        rawId: string;
                        /** @enum {string} */
                        type: "public-key";
                        response: {
                            /** Format: base64url */
                            clientDataJSON: string;
                            /** Format: base64url */
                            attestationObject: string;
                        };
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** @enum {boolean} */
                            ok: true;
                            name: string;
                            credential_id: string;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/login/start": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `hil.auth.ceremony`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        name: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            publicKey: {
                                [key: string]: components["schemas"]["Json"];
                            };
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/login/finish": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `hil.auth.ceremony`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        /** Format: base64url */
                        id: string;
                        /** Format: base64url */
                        rawId: string;
                        /** @enum {string} */
                        type: "public-key";
                        response: {
                            /** Format: base64url */
                            clientDataJSON: string;
                            /** Format: base64url */
                            authenticatorData: string;
                            /** Format: base64url */
                            signature: string;
                        };
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** @enum {boolean} */
                            ok: true;
                            name: string;
                            /** @enum {string} */
                            role?: "approver" | "admin";
                            /** Format: date-time */
                            expires_at?: string;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `hil.auth.ceremony`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": Record<string, never> | null;
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** @enum {boolean} */
                            ok: true;
                            ended: boolean;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `hil.auth.ceremony`. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** @enum {boolean} */
                            authenticated: true;
                            name: string;
                            tenant: string;
                            /** @enum {string} */
                            method: "webauthn";
                            /** @enum {string} */
                            role?: "approver" | "admin";
                            expires_at: string;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/passkeys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `hil.auth.ceremony`. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            passkeys: {
                                credential_id: string;
                                /** Format: date-time */
                                created_at: string;
                            }[];
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/enrollment/recoveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `hil.auth.ceremony`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        name: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            token: string;
                            expires_at: string;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/pending/{id}/approval-challenge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `hil.decision.execute`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        /** @enum {string} */
                        decision: "approve" | "deny" | "modify";
                        modification_diff?: {
                            /** @enum {string} */
                            contract: "gate.hil.modification-diff/v1";
                            replacements: {
                                path: string[];
                                value: string | number | boolean | null;
                            }[];
                        };
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            statement: {
                                /** @enum {string} */
                                contract: "gate.approval/v1";
                                /** @enum {string} */
                                decision: "approve" | "deny" | "modify";
                                /** Format: uuid */
                                pending_id: string;
                                /** Format: uuid */
                                correlation_id: string;
                                tenant: string;
                                approver: string;
                                payload_digest: string;
                                policy_bundle_sha256: string | null;
                                sandbox_report_digest: string | null;
                                row_digest: string;
                                required_approvers?: number;
                                agent_id?: string;
                                tool?: string;
                                tool_params_sha256?: string;
                                original_payload_digest?: string;
                                modification_diff_digest?: string;
                            };
                            challenge: string;
                            publicKey: {
                                [key: string]: components["schemas"]["Json"];
                            };
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/people/register/start": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `hil.auth.ceremony`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        name: string;
                        token: string;
                        display_name?: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            publicKey: {
                                [key: string]: components["schemas"]["Json"];
                            };
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/people/register/finish": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `hil.auth.ceremony`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        /** Format: base64url */
                        id: string;
                        /** Format: base64url */
                        rawId: string;
                        /** @enum {string} */
                        type: "public-key";
                        response: {
                            /** Format: base64url */
                            clientDataJSON: string;
                            /** Format: base64url */
                            attestationObject: string;
                        };
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** @enum {boolean} */
                            ok: true;
                            name: string;
                            credential_id: string;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/people/login/start": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `hil.auth.ceremony`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        name: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            publicKey: {
                                [key: string]: components["schemas"]["Json"];
                            };
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/enrollment/invitations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `hil.auth.ceremony`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        name: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            token: string;
                            expires_at: string;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/enrollment/removals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `hil.auth.ceremony`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        name: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** @enum {boolean} */
                            ok: true;
                            name: string;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/pending/{id}/decision-link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `hil.decision-link.manage`. */
        get: {
            parameters: {
                query: {
                    action: "approve" | "deny";
                    ttl_secs?: number;
                };
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            token: string;
                            /** @enum {string} */
                            action: "approve" | "deny";
                            /** Format: uuid */
                            pending_id: string;
                            /** Format: date-time */
                            expires_at: string;
                            url?: string;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/decision-link/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `hil.decision-link.manage`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        token: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            valid: boolean;
                            /** @enum {string} */
                            reason: "ok" | "expired" | "invalid" | "not_pending" | "gone";
                            /** Format: uuid */
                            pending_id?: string;
                            /** @enum {string} */
                            action?: "approve" | "deny";
                            pending?: {
                                agent_id: string;
                                method: string;
                                tool: string | null;
                                risk_summary: string;
                                /** @enum {string} */
                                status: "pending" | "approved" | "denied" | "expired" | "aborted" | "withdrawn" | "tampered";
                                /** Format: uuid */
                                correlation_id: string;
                                tenant: string;
                            };
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/identities/upsert": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `hil.identity.manage`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        oidc_sub: string;
                        slack_user_id?: string;
                        teams_user_id?: string;
                        link_code?: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            oidc_sub: string;
                            slack_user_id: string | null;
                            teams_user_id: string | null;
                            linked_at: string;
                            last_verified: string | null;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/identities/{oidc_sub}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `hil.identity.read`. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    oidc_sub: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            oidc_sub: string;
                            slack_user_id: string | null;
                            teams_user_id: string | null;
                            linked_at: string;
                            last_verified: string | null;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/identities/{oidc_sub}/slack": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** @description Capability `hil.identity.manage`. */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    oidc_sub: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            cleared: boolean;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/identities/{oidc_sub}/teams": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** @description Capability `hil.identity.manage`. */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    oidc_sub: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            cleared: boolean;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/identities/removals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `hil.identity.manage`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        oidc_sub: string;
                        /** @enum {string} */
                        chat: "slack" | "teams";
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            oidc_sub: string;
                            /** @enum {string} */
                            chat: "slack" | "teams";
                            removed_by: string;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/notifications/config": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `hil.notification.read`. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** @enum {string} */
                            mode: "disabled" | "warn" | "enforce";
                            viable: boolean;
                            slack: boolean;
                            teams: boolean;
                            pagerduty: boolean;
                            webhook: boolean;
                            smtp: boolean;
                            escalation_pools: string[];
                            queued: number;
                            dead_letters: number;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/notifications/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `hil.notification.manage`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": Record<string, never> | null;
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** @enum {string} */
                            mode: "disabled" | "warn" | "enforce";
                            viable: boolean;
                            slack: boolean;
                            teams: boolean;
                            pagerduty: boolean;
                            webhook: boolean;
                            smtp: boolean;
                            escalation_pools: string[];
                            queued: number;
                            dead_letters: number;
                            results: {
                                [key: string]: {
                                    /** @enum {string} */
                                    outcome: "sent";
                                } | {
                                    /** @enum {string} */
                                    outcome: "failed";
                                    reason: string;
                                };
                            };
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhook/slack": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `hil.webhook.receive`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
                /** @description The answer. */
                "2XX": {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "*/*": unknown;
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhook/teams": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `hil.webhook.receive`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
                /** @description The answer. */
                "2XX": {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "*/*": unknown;
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        JsonInput: unknown;
        RefusalInput: {
            /** @enum {string} */
            error: "invalid_mcp" | "unsupported_method" | "unjudged_field" | "batch_too_large" | "decision_selector_invalid" | "decision_selector_conflict" | "decision_tool_required" | "server_execution_selector_invalid" | "server_execution_selector_conflict" | "server_execution_tool_required" | "decision_handle_unknown" | "certificate_required" | "execution_receipt_invalid" | "execution_receipt_conflict" | "callback_not_allowed" | "unauthorized" | "certificate_revoked" | "certificate_superseded" | "control_state_unavailable" | "agent_suspended" | "tool_suspended" | "tenant_suspended" | "tenant_decommissioned" | "agent_decommissioned" | "token_invalid" | "credentials_disagree" | "token_scope_insufficient" | "token_agent_unknown" | "token_keys_unavailable" | "grant_invalid" | "grant_expired" | "grant_not_yet_valid" | "grant_outside_schedule" | "grant_usage_exhausted" | "grant_revoked" | "grant_required" | "scope_outside_envelope" | "grant_jwks_unavailable" | "a2a_redeem_failed" | "a2a_unavailable" | "credential_not_judged" | "host_not_allowed" | "method_not_allowed" | "session_not_found" | "task_not_found" | "task_not_cancellable" | "client_capability_missing" | "mcp_header_mismatch" | "request_state_invalid" | "request_state_mismatch" | "mcp_envelope_invalid" | "protocol_version_unsupported" | "request_timeout" | "uri_too_long" | "request_headers_too_large" | "request_too_large" | "client_contract_required" | "rate_limited" | "review_backlog_full" | "quota_exceeded" | "policy_denied" | "review_denied" | "review_expired" | "call_withdrawn" | "decision_idempotency_conflict" | "server_execution_idempotency_conflict" | "server_execution_uncertain" | "reconciled_not_run" | "not_uncertain" | "call_aborted" | "call_abandoned" | "attempt_not_begun" | "call_tampered" | "authorization_expired" | "pins_changed_meanwhile" | "pins_tampered" | "call_purged" | "upstream_unreachable" | "upstream_invalid_response" | "tool_classes_unreadable" | "tool_class_outdated" | "tool_not_listed" | "tool_classes_busy" | "egress_blocked" | "tool_definition_poisoned" | "tool_unknown" | "tool_quarantined" | "tool_definition_changed" | "policy_changed" | "budget_changed" | "agent_standing_changed" | "upstream_timeout" | "upstream_not_configured" | "pipeline_unavailable" | "store_unavailable" | "ledger_store_unavailable" | "report_too_large" | "signing_unavailable" | "chain_verification_incomplete" | "window_vacuumed" | "export_sink_unavailable" | "checkpoint_inconsistent" | "provider_unavailable" | "console_neighbour_away" | "chain_walk_under_way" | "sign_in_busy" | "csrf_failed" | "role_too_low" | "authorization_pending" | "slow_down" | "access_denied" | "expired_token" | "invalid_grant" | "invalid_client" | "invalid_scope" | "invalid_target" | "unauthorized_client" | "unsupported_grant_type" | "policy_unavailable" | "policy_invalid" | "policy_protected" | "policy_exists" | "version_conflict" | "policy_lab_busy" | "suggestion_withdrawn" | "bundle_gone" | "policy_tampered" | "policy_compiler_unavailable" | "sandbox_unavailable" | "orchestrator_unavailable" | "decision_not_sent" | "invalid_request" | "policy_input_invalid" | "invalid_window" | "invalid_meter_window" | "invalid_adjustment" | "invalid_log_request" | "payload_commitment_invalid" | "partial_signature" | "proof_out_of_range" | "cosignature_invalid" | "signed_position_invalid" | "unsupported_media_type" | "final_export_required" | "tenant_reserved" | "tenant_required" | "signature_invalid" | "verification_keys_unavailable" | "unauthenticated" | "caller_spiffe_missing" | "capability_denied" | "invalid_token" | "budget_invalid" | "budgets_exhausted" | "decoy_invalid" | "decoy_exists" | "decoys_exhausted" | "tenant_mismatch" | "scope_not_normalized" | "envelope_not_narrower" | "envelope_not_wider" | "invalid_grant_terms" | "yellow_scope_outside_envelope" | "delegation_not_configured" | "jwks_unavailable" | "invalid_csr" | "invalid_csr_signature" | "csr_too_large" | "unsupported_csr_algorithm" | "csr_extensions_forbidden" | "ttl_seconds_too_large" | "agent_name_reserved" | "owner_team_not_in_token" | "certification_incomplete" | "uncertified_agent" | "invalid_upstream_url" | "upstream_url_taken" | "upstream_name_taken" | "upstreams_exhausted" | "agent_name_taken" | "agent_name_retired" | "person_required" | "stop_changed" | "malformed_token" | "binding_mismatch" | "snapshot_mismatch" | "peer_bundle_unknown" | "peer_bundle_stale" | "jti_already_used" | "replay_store_unavailable" | "unregistered_agent" | "issuance_authority_denied" | "issuance_replay" | "identity_tampered" | "renewals_exhausted" | "caller_not_allowed" | "issuance_conflict" | "workload_certificate_ended" | "bootstrap_not_available" | "recovery_pending" | "bootstrap_not_retired" | "attestation_contract_version_unsupported" | "attestation_evidence_malformed" | "attestation_kind_unsupported" | "attestation_evidence_too_large" | "attestation_kind_not_accepted" | "attestation_challenge_invalid" | "attestation_nonce_mismatch" | "attestation_evidence_future" | "attestation_evidence_stale" | "attestation_key_mismatch" | "attestation_svid_mismatch" | "attestation_identity_mismatch" | "attestation_tenant_mismatch" | "attestation_workload_mismatch" | "attestation_instance_mismatch" | "attestation_measurement_unapproved" | "attestation_issuer_untrusted" | "attestation_verifier_policy_mismatch" | "attestation_kind_unknown" | "measurement_exists" | "attestation_verifier_unavailable" | "ca_unavailable" | "case_not_found" | "invalid_status" | "invalid_severity" | "not_found" | "already_decided" | "pending_expired" | "pending_aborted" | "operation_conflict" | "hold_conflict" | "note_conflict" | "pending_conflict" | "tenant_offboarded" | "confirm_mismatch" | "idempotency_key_required" | "lifecycle_conflict" | "rotation_active" | "rotation_unavailable" | "lifecycle_active" | "step_not_next" | "owner_mismatch" | "lease_held" | "retry_not_due" | "manual_recovery" | "lease_invalid" | "step_not_retryable" | "receipt_required" | "receipt_too_large" | "warrant_invalid" | "warrant_over" | "operation_unfinished" | "action_digest_mismatch" | "review_tampered" | "channel_already_linked" | "identity_not_linked" | "link_code_invalid" | "chat_signature_invalid" | "invalid_cursor" | "still_pending" | "unknown_escalation_pool" | "no_channel_set" | "not_pending" | "review_held" | "ledger_entry_conflict" | "adjustment_conflict" | "adjustment_below_zero" | "payload_too_large" | "modified_payload_rejected" | "unsupported_decision" | "invalid_modification_diff" | "modify_under_quorum" | "modification_unjudged" | "own_request" | "passkey_required" | "passkey_refused" | "passkeys_not_set_up" | "passkeys_not_vouched" | "passkey_session_required" | "recovery_refused" | "passkey_known" | "person_known" | "ceremony_not_found" | "decision_refused" | "clocks_apart" | "tenant_scope_required" | "legacy_identity_header" | "forwarded_certificate" | "modification_diff_required" | "payload_unavailable" | "unknown_tier" | "namespace_required" | "invalid_callback" | "invalid_ttl" | "internal_error";
            reason?: string;
            reasoning?: string;
            correlation_id: string;
        } & {
            [key: string]: unknown;
        };
        Json: unknown;
        Refusal: {
            /** @enum {string} */
            error: "invalid_mcp" | "unsupported_method" | "unjudged_field" | "batch_too_large" | "decision_selector_invalid" | "decision_selector_conflict" | "decision_tool_required" | "server_execution_selector_invalid" | "server_execution_selector_conflict" | "server_execution_tool_required" | "decision_handle_unknown" | "certificate_required" | "execution_receipt_invalid" | "execution_receipt_conflict" | "callback_not_allowed" | "unauthorized" | "certificate_revoked" | "certificate_superseded" | "control_state_unavailable" | "agent_suspended" | "tool_suspended" | "tenant_suspended" | "tenant_decommissioned" | "agent_decommissioned" | "token_invalid" | "credentials_disagree" | "token_scope_insufficient" | "token_agent_unknown" | "token_keys_unavailable" | "grant_invalid" | "grant_expired" | "grant_not_yet_valid" | "grant_outside_schedule" | "grant_usage_exhausted" | "grant_revoked" | "grant_required" | "scope_outside_envelope" | "grant_jwks_unavailable" | "a2a_redeem_failed" | "a2a_unavailable" | "credential_not_judged" | "host_not_allowed" | "method_not_allowed" | "session_not_found" | "task_not_found" | "task_not_cancellable" | "client_capability_missing" | "mcp_header_mismatch" | "request_state_invalid" | "request_state_mismatch" | "mcp_envelope_invalid" | "protocol_version_unsupported" | "request_timeout" | "uri_too_long" | "request_headers_too_large" | "request_too_large" | "client_contract_required" | "rate_limited" | "review_backlog_full" | "quota_exceeded" | "policy_denied" | "review_denied" | "review_expired" | "call_withdrawn" | "decision_idempotency_conflict" | "server_execution_idempotency_conflict" | "server_execution_uncertain" | "reconciled_not_run" | "not_uncertain" | "call_aborted" | "call_abandoned" | "attempt_not_begun" | "call_tampered" | "authorization_expired" | "pins_changed_meanwhile" | "pins_tampered" | "call_purged" | "upstream_unreachable" | "upstream_invalid_response" | "tool_classes_unreadable" | "tool_class_outdated" | "tool_not_listed" | "tool_classes_busy" | "egress_blocked" | "tool_definition_poisoned" | "tool_unknown" | "tool_quarantined" | "tool_definition_changed" | "policy_changed" | "budget_changed" | "agent_standing_changed" | "upstream_timeout" | "upstream_not_configured" | "pipeline_unavailable" | "store_unavailable" | "ledger_store_unavailable" | "report_too_large" | "signing_unavailable" | "chain_verification_incomplete" | "window_vacuumed" | "export_sink_unavailable" | "checkpoint_inconsistent" | "provider_unavailable" | "console_neighbour_away" | "chain_walk_under_way" | "sign_in_busy" | "csrf_failed" | "role_too_low" | "authorization_pending" | "slow_down" | "access_denied" | "expired_token" | "invalid_grant" | "invalid_client" | "invalid_scope" | "invalid_target" | "unauthorized_client" | "unsupported_grant_type" | "policy_unavailable" | "policy_invalid" | "policy_protected" | "policy_exists" | "version_conflict" | "policy_lab_busy" | "suggestion_withdrawn" | "bundle_gone" | "policy_tampered" | "policy_compiler_unavailable" | "sandbox_unavailable" | "orchestrator_unavailable" | "decision_not_sent" | "invalid_request" | "policy_input_invalid" | "invalid_window" | "invalid_meter_window" | "invalid_adjustment" | "invalid_log_request" | "payload_commitment_invalid" | "partial_signature" | "proof_out_of_range" | "cosignature_invalid" | "signed_position_invalid" | "unsupported_media_type" | "final_export_required" | "tenant_reserved" | "tenant_required" | "signature_invalid" | "verification_keys_unavailable" | "unauthenticated" | "caller_spiffe_missing" | "capability_denied" | "invalid_token" | "budget_invalid" | "budgets_exhausted" | "decoy_invalid" | "decoy_exists" | "decoys_exhausted" | "tenant_mismatch" | "scope_not_normalized" | "envelope_not_narrower" | "envelope_not_wider" | "invalid_grant_terms" | "yellow_scope_outside_envelope" | "delegation_not_configured" | "jwks_unavailable" | "invalid_csr" | "invalid_csr_signature" | "csr_too_large" | "unsupported_csr_algorithm" | "csr_extensions_forbidden" | "ttl_seconds_too_large" | "agent_name_reserved" | "owner_team_not_in_token" | "certification_incomplete" | "uncertified_agent" | "invalid_upstream_url" | "upstream_url_taken" | "upstream_name_taken" | "upstreams_exhausted" | "agent_name_taken" | "agent_name_retired" | "person_required" | "stop_changed" | "malformed_token" | "binding_mismatch" | "snapshot_mismatch" | "peer_bundle_unknown" | "peer_bundle_stale" | "jti_already_used" | "replay_store_unavailable" | "unregistered_agent" | "issuance_authority_denied" | "issuance_replay" | "identity_tampered" | "renewals_exhausted" | "caller_not_allowed" | "issuance_conflict" | "workload_certificate_ended" | "bootstrap_not_available" | "recovery_pending" | "bootstrap_not_retired" | "attestation_contract_version_unsupported" | "attestation_evidence_malformed" | "attestation_kind_unsupported" | "attestation_evidence_too_large" | "attestation_kind_not_accepted" | "attestation_challenge_invalid" | "attestation_nonce_mismatch" | "attestation_evidence_future" | "attestation_evidence_stale" | "attestation_key_mismatch" | "attestation_svid_mismatch" | "attestation_identity_mismatch" | "attestation_tenant_mismatch" | "attestation_workload_mismatch" | "attestation_instance_mismatch" | "attestation_measurement_unapproved" | "attestation_issuer_untrusted" | "attestation_verifier_policy_mismatch" | "attestation_kind_unknown" | "measurement_exists" | "attestation_verifier_unavailable" | "ca_unavailable" | "case_not_found" | "invalid_status" | "invalid_severity" | "not_found" | "already_decided" | "pending_expired" | "pending_aborted" | "operation_conflict" | "hold_conflict" | "note_conflict" | "pending_conflict" | "tenant_offboarded" | "confirm_mismatch" | "idempotency_key_required" | "lifecycle_conflict" | "rotation_active" | "rotation_unavailable" | "lifecycle_active" | "step_not_next" | "owner_mismatch" | "lease_held" | "retry_not_due" | "manual_recovery" | "lease_invalid" | "step_not_retryable" | "receipt_required" | "receipt_too_large" | "warrant_invalid" | "warrant_over" | "operation_unfinished" | "action_digest_mismatch" | "review_tampered" | "channel_already_linked" | "identity_not_linked" | "link_code_invalid" | "chat_signature_invalid" | "invalid_cursor" | "still_pending" | "unknown_escalation_pool" | "no_channel_set" | "not_pending" | "review_held" | "ledger_entry_conflict" | "adjustment_conflict" | "adjustment_below_zero" | "payload_too_large" | "modified_payload_rejected" | "unsupported_decision" | "invalid_modification_diff" | "modify_under_quorum" | "modification_unjudged" | "own_request" | "passkey_required" | "passkey_refused" | "passkeys_not_set_up" | "passkeys_not_vouched" | "passkey_session_required" | "recovery_refused" | "passkey_known" | "person_known" | "ceremony_not_found" | "decision_refused" | "clocks_apart" | "tenant_scope_required" | "legacy_identity_header" | "forwarded_certificate" | "modification_diff_required" | "payload_unavailable" | "unknown_tier" | "namespace_required" | "invalid_callback" | "invalid_ttl" | "internal_error";
            reason?: string;
            reasoning?: string;
            correlation_id: string;
        } & {
            [key: string]: unknown;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
