-- How often a source publishes (rules::publishing): faded counts in a value of fixed size, empty until a document was read.

ALTER TABLE sources ADD COLUMN publishing BLOB NOT NULL DEFAULT x'';
