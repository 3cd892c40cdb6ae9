-- name: is_up
select enabled from user_walls

-- name: key
select key from user_walls where enabled

-- name: change
call set_user_walls(%(up)s)

-- name: state
select enabled, key from user_walls

-- name: set_key
call set_user_walls_key(%(key)s)
