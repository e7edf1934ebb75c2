DELETE FROM store_probe
