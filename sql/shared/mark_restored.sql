UPDATE daemon SET backed_up_at = $1
