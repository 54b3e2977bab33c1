"""What `export` and `import` read and write."""
