"""What a student gets back: nbgrader's feedback page, with a table of the tasks on top, readable without a network."""
