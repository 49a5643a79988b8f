def front_matter(text, where):
    return ({"name": "x", "description": "y"}, text)
