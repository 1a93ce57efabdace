def draw_all(names, journal, output):
    return []
def draw_population(names, journal, seeds, output):
    return []
