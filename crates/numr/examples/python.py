"""NumPy arrays and numr tensors that share memory through DLPack; see python.rs."""

import ctypes
import gc
import sys

import numpy as np

numr = ctypes.CDLL(sys.argv[1])
api = ctypes.pythonapi
NAME, USED = b"dltensor_versioned", b"used_dltensor_versioned"
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
numr.countdown.restype = ctypes.c_void_p
numr.sum_of_squares.restype = ctypes.c_double
numr.sum_of_squares.argtypes = [ctypes.c_void_p]
numr.same.restype = ctypes.c_void_p
numr.same.argtypes = [ctypes.c_void_p]


class Tensor:
    """A numr tensor for `numpy.from_dlpack`."""

    def __init__(self, pointer):
        assert pointer, "numr refused"
        self.pointer = pointer

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **_):
        return api.PyCapsule_New(self.pointer, NAME, None)


def give(array):
    """The pointer in an array's capsule, which is now the taker's."""
    capsule = array.__dlpack__(max_version=(1, 0))
    pointer = api.PyCapsule_GetPointer(capsule, NAME)
    api.PyCapsule_SetName(capsule, USED)
    return pointer


rows = np.from_dlpack(Tensor(numr.countdown(4)))
assert rows.tolist() == [[3.0], [2.0], [1.0], [0.0]], rows
assert rows.strides[0] == -8 and not rows.flags.writeable
assert numr.sum_of_squares(give(np.arange(4, dtype=np.float32))) == 14.0

for dtype in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split():
    whole = np.arange(240).reshape(4, 6, 10).astype(dtype)
    for array in whole, whole.T, whole[::-2, ::2], whole[:, :0], whole[1, 2, 3]:
        array = np.asarray(array)
        back = np.from_dlpack(Tensor(numr.same(give(array))))
        assert back.dtype == array.dtype and np.array_equal(back, array), (dtype, back, array)

# The memory is the same, and stays as long as someone has it.
array = np.arange(1000.0)
back = np.from_dlpack(Tensor(numr.same(give(array))))
assert np.shares_memory(array, back)
references = sys.getrefcount(array)
del back
gc.collect()
assert sys.getrefcount(array) == references - 1, "numr let the array go"
print("ok")
