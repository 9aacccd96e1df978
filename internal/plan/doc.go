// Package plan decides what happens to a ReportJob. It is pure: an Observation and an instant give a Decision.
package plan
