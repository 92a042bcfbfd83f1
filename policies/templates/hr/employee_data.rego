# Template: employee_data
# Domain: hr
# Severity: high
# Frameworks: GDPR, CCPA, employment
# Tags: privacy, payroll
# Tier: review
# Tool surface: update_salary, export_employees, get_employee_compensation, terminate_employee, share_employee_file
# Summary: Data of employees. What one earns, how one is judged and whether one stays waits for HR, and so does whatever hands out many.
# Purpose: GDPR article 88 and national law guard such data more than a customer's; a pay list in the wrong channel ends careers and starts suits.
# Inputs: fields, include; salary, termination_date and their like; at any depth.
# Edit: read_tools, part_fields, guarded_parts, bulk_tools, change_tools, record_tools, decided_fields.

package gate.authz

import rego.v1

import data.gate.lib

employee_data_defaults := {
	"read_tools": [
		"compensation_get", "employee_fetch", "employee_get", "employee_lookup", "employee_read", "employee_record", "employee_search",
		"payslip_get", "personnel_file", "staff_get", "worker_get", "worker_search",
	],
	"part_fields": ["category", "column", "expand", "field", "include", "section", "select"],
	"guarded_parts": [
		"background_check", "bank", "compensation", "disability", "disciplinary", "ethnicity", "garnishment", "grievance", "health",
		"leave_reason", "medical", "pay", "performance_review", "religion", "salary", "ssn", "union", "visa",
	],
	"bulk_tools": [
		"compensation_export", "employee_bulk", "employee_export", "employee_list_export", "headcount_export", "hris_export", "payroll_export",
		"salary_export", "staff_export", "worker_export",
	],
	"change_tools": [
		"bonus_set", "bonus_update", "compensation_change", "compensation_update", "employee_demote", "employee_dismiss", "employee_offboard",
		"employee_promote", "employee_terminate", "employment_end", "pay_rate_update", "performance_rating_set", "performance_rating_update",
		"salary_change", "salary_set", "salary_update", "worker_terminate",
	],
	"record_tools": [
		"employee_edit", "employee_modify", "employee_patch", "employee_record_update", "employee_update", "staff_update", "worker_update",
	],
	"decided_fields": [
		"base_pay", "base_salary", "bonus", "compensation", "disciplinary_action", "employment_status", "job_level", "pay_grade", "pay_rate",
		"performance_rating", "salary", "termination_date", "termination_reason",
	],
}

employee_data_settings := object.union(employee_data_defaults, given) if given := data.gate.employee_data

else := employee_data_defaults

watches contains "employee_data_read" if lib.tool_is(employee_data_settings.read_tools)

watches contains "employee_data_bulk" if lib.tool_is(employee_data_settings.bulk_tools)

watches contains "employee_data_change" if lib.tool_changes(employee_data_settings.change_tools)

watches contains "employee_data_record" if lib.tool_changes(employee_data_settings.record_tools)

# METADATA
# title: A guarded part
review contains "Review: employee_data: a guarded part of the file (fields, include) is asked for; approve it where the task needs it, else ask without." if {
	lib.watched.employee_data_read
	lib.mentions(employee_data_settings.part_fields, employee_data_settings.guarded_parts)
}

# METADATA
# title: Many files
review contains "Review: employee_data: data of many employees are handed out; approve it where each field is needed, and name who gets them." if {
	lib.watched.employee_data_bulk
}

# METADATA
# title: Pay, rank or an end
review contains "Review: employee_data: pay, rank or employment would change (salary, job_level, termination_date); approve it as HR, under the signed decision." if {
	employee_data_decides
}

employee_data_decides if lib.watched.employee_data_change

employee_data_decides if {
	lib.watched.employee_data_record
	lib.given(employee_data_settings.decided_fields)
}
