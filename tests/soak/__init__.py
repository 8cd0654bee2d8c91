"""`make soak`: a large class, a part of it hostile or broken, and a batch that is killed again and again."""
