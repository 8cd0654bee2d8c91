"""The explorers in a real JupyterLab, from a wheel that was built without Node. Screenshots: build/screenshots."""
