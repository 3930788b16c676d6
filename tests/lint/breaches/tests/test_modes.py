# fm-1 fm-3
def test_of_a_row_that_is_there_and_one_that_is_not():
    pass


# fm-1
NOT_A_TEST = 1
