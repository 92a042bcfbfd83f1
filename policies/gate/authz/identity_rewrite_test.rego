package gate.authz_test

import rego.v1

test_permission_rewrites_are_denied if {
	every name in ["grant_admin", "modify_iam_policy", "create_admin_user", "set_role", "updatePermissions"] {
		denied({"tool_type": name}, "identity permission")
	}
}

test_reads_of_permissions_pass if {
	passes({"tool_type": "list_role_assignments"})
	passes({"tool_type": "get_permissions"})
	passes({"tool_type": "create_user"})
}
