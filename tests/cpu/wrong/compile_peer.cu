// says: compile_peer.cu:5:
// says: cudaDeviceEnablePeerAccess: not supported by the cpu backend; there is one device
int main()
{
    return cudaDeviceEnablePeerAccess(1, 0);
}
