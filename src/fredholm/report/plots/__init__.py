"""Pictures of solutions: on paper (`solution`, `comparison`) and on the report's page (`interactive`)."""
