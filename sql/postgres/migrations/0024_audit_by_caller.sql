-- The records of one caller are read newest first without reading those of all others.

CREATE INDEX audit_by_caller ON audit (who, id);
