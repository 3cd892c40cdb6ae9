-- name: database
create database htm
